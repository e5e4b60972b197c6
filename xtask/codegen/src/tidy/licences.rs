//! Whether one may have a crate by licences that are allowed: SPDX expressions, as Cargo.toml has them.

use std::collections::BTreeSet;
use std::iter::Peekable;

use anyhow::{Result, bail, ensure};

/// Whether an expression can be met by `allowed` licences. `/`, of older Cargo.tomls, means OR.
///
/// # Errors
/// When it is no expression.
pub(super) fn are_met(expression: &str, allowed: &BTreeSet<String>) -> Result<bool> {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let met = any(&mut words, allowed)?;
    if let Some(word) = words.next() {
        bail!("{word:?} is not expected in {expression:?}");
    }
    Ok(met)
}

fn any<'a>(words: &mut Peekable<impl Iterator<Item = &'a str>>, allowed: &BTreeSet<String>) -> Result<bool> {
    let mut met = all(words, allowed)?;
    while words.next_if_eq(&"OR").is_some() {
        met |= all(words, allowed)?;
    }
    Ok(met)
}

/// AND binds more closely than OR.
fn all<'a>(words: &mut Peekable<impl Iterator<Item = &'a str>>, allowed: &BTreeSet<String>) -> Result<bool> {
    let mut met = one(words, allowed)?;
    while words.next_if_eq(&"AND").is_some() {
        met &= one(words, allowed)?;
    }
    Ok(met)
}

fn one<'a>(words: &mut Peekable<impl Iterator<Item = &'a str>>, allowed: &BTreeSet<String>) -> Result<bool> {
    match words.next() {
        Some("(") => {
            let met = any(words, allowed)?;
            ensure!(words.next() == Some(")"), "a parenthesis is not closed");
            Ok(met)
        }
        Some(word) if !matches!(word, "AND" | "OR" | "WITH" | ")") => {
            let mut licence = word.to_owned();
            if words.next_if_eq(&"WITH").is_some() {
                licence = format!("{licence} WITH {}", words.next().unwrap_or_default());
            }
            Ok(allowed.contains(&licence))
        }
        other => bail!("a licence is missing before {:?}", other.unwrap_or("the end")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expression: &str, expected: bool) {
        let allowed = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned).into();
        assert_eq!(are_met(expression, &allowed).unwrap(), expected, "{expression}");
    }

    #[test]
    fn one_of_several_licences_is_enough_and_all_that_hold_at_once_are_needed() {
        check("MIT", true);
        check("GPL-3.0-only", false);
        check("GPL-3.0-only OR MIT", true);
        check("Apache-2.0/MIT", true);
        check("MIT AND GPL-3.0-only", false);
        check("GPL-3.0-only AND MIT", false);
        check("MIT AND ISC", true);
        check("GPL-3.0-only OR MIT AND GPL-2.0-only", false);
        check("(GPL-3.0-only OR MIT) AND ISC", true);
        check("ISC AND (Zlib OR ISC) AND GPL-2.0-only", false);
        check("Apache-2.0 WITH LLVM-exception", true);
        check("Apache-2.0", false);
    }

    #[test]
    fn what_is_no_expression_is_an_error() {
        for expression in ["", "MIT OR", "AND MIT", "(MIT", "MIT)", "MIT ISC"] {
            assert!(are_met(expression, &BTreeSet::new()).is_err(), "{expression}");
        }
    }
}

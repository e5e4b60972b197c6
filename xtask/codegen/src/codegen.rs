//! `cargo xtask codegen`: writes the parts of documents and the CRDs of charts that are data in the code, and manifests
//! that are made of charts. What is written is committed, so that people read it where they look for it; `tidy` says when
//! it no longer is what the code has.

mod crds;
mod gates;
mod manifests;
mod tables;

use std::fs;

use anyhow::{Context, Result, ensure};
use clap::Args;

use xtask::project;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Say what is out of date, and write nothing.
    #[arg(long)]
    check: bool,
}

/// What stands in a file between the two marker comments of its name.
struct Part {
    file: &'static str,
    name: &'static str,
    text: fn() -> Result<String>,
}

const PARTS: [Part; 2] = [
    Part { file: "docs/configuration.md", name: "feature gates", text: || Ok(gates::table()) },
    Part { file: "docs/design/ovs-pipeline.md", name: "tables", text: tables::table },
];

/// Writes everything, or returns what is out of date.
pub(crate) fn run(arguments: &Arguments) -> Result<Vec<String>> {
    if arguments.check {
        return problems();
    }
    for part in &PARTS {
        if let Some(text) = outdated(part)? {
            let path = project::root().join(part.file);
            fs::write(&path, text).with_context(|| format!("cannot write {}", part.file))?;
            println!("{}: wrote {}", part.file, part.name);
        }
    }
    crds::write()?;
    // They have the CRDs in them.
    manifests::write()?;
    Ok(Vec::new())
}

/// What is out of date, one line each.
pub(crate) fn problems() -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for part in &PARTS {
        if outdated(part)?.is_some() {
            problems.push(format!(
                "{}: {} are not what the code has: run `cargo xtask codegen`",
                part.file, part.name
            ));
        }
    }
    problems.extend(crds::problems()?);
    problems.extend(manifests::problems()?);
    Ok(problems)
}

/// The whole file as it should be; nothing when it is so.
fn outdated(part: &Part) -> Result<Option<String>> {
    let path = project::root().join(part.file);
    let old = fs::read_to_string(path).with_context(|| format!("cannot read {}", part.file))?;
    let new = with_part(&old, part.name, &(part.text)()?).with_context(|| part.file.to_owned())?;
    Ok((new != old).then_some(new))
}

/// The document with other text between the markers of a part.
fn with_part(document: &str, name: &str, text: &str) -> Result<String> {
    let (start, end) = (format!("<!-- codegen: {name} -->\n"), format!("<!-- end of {name} -->\n"));
    let places = (document.find(&start), document.find(&end));
    let before = places.0.and_then(|place| document.get(..place + start.len()));
    let after = places.1.and_then(|place| document.get(place..));
    let (before, after) = before
        .zip(after)
        .with_context(|| format!("the lines {:?} and {:?} are not both there", start.trim(), end.trim()))?;
    ensure!(
        before.len() + after.len() <= document.len(),
        "{:?} stands before {:?}",
        end.trim(),
        start.trim()
    );
    Ok(format!("{before}{text}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_stands_between_its_markers() {
        let document = "a\n<!-- codegen: x -->\nold\nolder\n<!-- end of x -->\nb\n";
        let expected = "a\n<!-- codegen: x -->\nnew\n<!-- end of x -->\nb\n";
        assert_eq!(with_part(document, "x", "new\n").unwrap(), expected);
        assert_eq!(with_part(expected, "x", "new\n").unwrap(), expected);
    }

    #[test]
    fn a_document_without_markers_is_refused() {
        for document in ["", "<!-- codegen: x -->\n", "<!-- end of x -->\n<!-- codegen: x -->\n"] {
            assert!(with_part(document, "x", "new\n").is_err(), "{document}");
        }
    }
}

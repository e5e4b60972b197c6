//! `cargo xtask tidy`: rules of the project that neither the compiler nor clippy knows.

mod arrows;
mod defects;
mod dependencies;
mod files;
mod keys;
mod licences;
mod panics;
mod test_names;
mod versions;

use anyhow::Result;

use crate::codegen;

/// Everything found, one line each, in a fixed order; empty when the project is tidy.
pub(crate) fn problems() -> Result<Vec<String>> {
    let mut problems = files::problems()?;
    problems.extend(arrows::problems()?);
    problems.extend(dependencies::problems()?);
    problems.extend(versions::problems()?);
    problems.extend(keys::problems()?);
    problems.extend(panics::problems()?);
    problems.extend(defects::problems()?);
    problems.extend(test_names::problems()?);
    problems.extend(codegen::problems()?);
    Ok(problems)
}

//! What is wrong with a configuration file, one line for each problem.

use std::fmt;

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line in the file, from 1; 0 where no single line is to blame.
    pub line: u64,
    /// Column in that line, from 1; 0 where no single line is to blame.
    pub column: u64,
    /// What is wrong and what is allowed, beginning with the full name of the key.
    pub message: String,
}

/// A configuration file that cannot be used. Displays as one line for each problem: `FILE:LINE:COLUMN: MESSAGE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The name of the file, as it was given.
    pub file: String,
    /// All problems that were found, in the order of the file; never empty.
    pub problems: Vec<Problem>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            f.write_str(&self.file)?;
            if problem.line > 0 {
                write!(f, ":{}:{}", problem.line, problem.column)?;
            }
            write!(f, ": {}", problem.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// Gathers problems while a file is validated, so that a user sees all of them at once.
#[derive(Debug, Default)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Notes one problem.
    pub fn add(&mut self, line: u64, column: u64, message: String) {
        self.0.push(Problem { line, column, message });
    }

    /// `value` where nothing was wrong.
    pub fn into_result<T>(self, file: &str, value: T) -> Result<T, ConfigError> {
        let Self(mut problems) = self;
        if problems.is_empty() {
            return Ok(value);
        }
        problems.sort_by_key(|problem| (problem.line, problem.column));
        Err(ConfigError { file: file.to_owned(), problems })
    }
}

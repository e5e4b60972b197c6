//! Configuration files in YAML: text in, raw sections with the place of each value out, or problems that name file, line,
//! column, key and what is allowed. What the keys are is the programs' affair.

pub mod error;
mod parse;
pub mod section;
mod texts;
pub mod values;

pub use error::{ConfigError, Problem, Problems};
pub use parse::parse;
pub use section::{Key, Section, Setting};
pub use texts::Texts;
pub use values::InvalidChoice;

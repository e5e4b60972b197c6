//! Values of keys: text and numbers into types, and the choices that a key offers.

use std::fmt;
use std::str::FromStr;

use crate::error::Problems;
use crate::section::{Setting, refuse};

/// Turns text into a value; what cannot be turned is noted with what is allowed. Empty text is absent.
pub fn parsed<T>(setting: &Setting<String>, key: &str, problems: &mut Problems) -> Option<T>
where
    T: FromStr<Err: fmt::Display>,
{
    let value = setting.as_ref().filter(|value| !value.value.is_empty())?;
    match value.value.parse() {
        Ok(parsed) => Some(parsed),
        Err(error) => {
            refuse(problems, key, value, error);
            None
        }
    }
}

/// A port; absent where it is 0.
pub fn port(setting: &Setting<i64>, key: &str, problems: &mut Problems) -> Option<u16> {
    let value = setting.as_ref().filter(|value| value.value != 0)?;
    let port = u16::try_from(value.value).ok();
    if port.is_none() {
        refuse(problems, key, value, "allowed are 1 to 65535, and 0 for the default");
    }
    port
}

/// A word that is none of the choices of its key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("allowed are {allowed}")]
pub struct InvalidChoice {
    allowed: String,
}

impl InvalidChoice {
    /// For a key that offers these.
    pub fn of(allowed: &[&str]) -> Self {
        Self { allowed: allowed.join(", ") }
    }
}

/// Declares an enum of the choices that a key offers, each by the name it has in the file. The crate that says it needs
/// nothing else.
#[macro_export]
macro_rules! choice {
    ($(#[$documentation:meta])* $visibility:vis $name:ident { $($(#[$variant_documentation:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$documentation])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $visibility enum $name {
            $($(#[$variant_documentation])* $variant,)*
        }

        impl $name {
            /// The name that the choice has in the file.
            $visibility const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::InvalidChoice;

            /// As upstream does, upper and lower case count alike.
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $(
                    if text.eq_ignore_ascii_case($text) {
                        return Ok(Self::$variant);
                    }
                )*
                Err($crate::InvalidChoice::of(&[$($text),*]))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

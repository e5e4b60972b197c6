//! The shape that all sections share: a raw struct, its keys, their defaults.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;

use crate::error::Problems;

/// The value of a key as it stands in the file, with its place there; `None` where the key is absent or null.
pub type Setting<T> = Option<Spanned<T>>;

/// A key that a configuration file may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The full name: sections and key joined by dots, as in `wireGuard.port`.
    pub path: String,
    /// Upstream's default, as JSON.
    pub default: String,
}

/// A section of a configuration file. Made by [`section!`].
pub trait Section {
    /// Appends every key of the section, those of its own sections included, in the order of the declaration.
    fn keys(path: &str, keys: &mut Vec<Key>)
    where
        Self: Sized;

    /// Refuses every key that is set to something else than its default, because of `reason`.
    fn allow_defaults_only(&self, path: &str, reason: &str, problems: &mut Problems);
}

/// A value that a key may have.
pub trait Value: PartialEq + serde::Serialize {
    /// Whether upstream takes the value as "not set", and uses the default.
    fn is_unset(&self) -> bool {
        false
    }
}

impl Value for bool {}
impl Value for f64 {}
impl Value for i64 {
    fn is_unset(&self) -> bool {
        *self == 0
    }
}
impl Value for String {
    fn is_unset(&self) -> bool {
        self.is_empty()
    }
}
impl Value for BTreeMap<String, Spanned<bool>> {}
impl<T: PartialEq + serde::Serialize> Value for Vec<T> {
    fn is_unset(&self) -> bool {
        self.is_empty()
    }
}

/// A value the way it is shown to users and compared with charts.
pub fn shown(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| format!("(not shown: {error})"))
}

/// Joins the name of a section and that of a key.
pub fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Notes a problem with the value of a key: `KEY VALUE: MESSAGE`.
pub fn refuse<T: serde::Serialize>(
    problems: &mut Problems,
    key: &str,
    value: &Spanned<T>,
    message: impl fmt::Display,
) {
    let (line, column) = (value.referenced.line(), value.referenced.column());
    problems.add(line, column, format!("{key} {}: {message}", shown(&value.value)));
}

/// Refuses a value other than the default, because of `reason`.
pub fn allow_default_only<T: Value>(
    setting: &Setting<T>,
    key: &str,
    default: &T,
    reason: &str,
    problems: &mut Problems,
) {
    if let Some(value) = setting
        && value.value != *default
        && !value.value.is_unset()
    {
        refuse(problems, key, value, format!("{reason}; leave the key out, or set it to {}", shown(default)));
    }
}

/// A section that is there but has no keys is one that is not there.
pub fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Declares the raw struct of a section: for each key its field, its type, its name in the file and its default;
/// for each nested section its field, its type and its name in the file. The crate that says it needs serde.
#[doc(hidden)]
#[macro_export]
macro_rules! __section {
    (
        $(#[$documentation:meta])*
        $name:ident {
            $($field:ident: $type:ty = $key:literal, $default:expr;)*
        } $(with sections {
            $($section:ident: $section_type:ty = $section_key:literal;)*
        })?
    ) => {
        $(#[$documentation])*
        #[derive(Debug, Default, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
            $(
                #[serde(rename = $key, default)]
                pub(crate) $field: $crate::section::Setting<$type>,
            )*
            $($(
                #[serde(
                    rename = $section_key,
                    default,
                    deserialize_with = "antrea_config_file::section::null_is_default"
                )]
                pub(crate) $section: $section_type,
            )*)?
        }

        impl $crate::section::Section for $name {
            fn keys(path: &str, keys: &mut Vec<$crate::section::Key>) {
                $(
                    keys.push($crate::section::Key {
                        path: $crate::section::join(path, $key),
                        default: $crate::section::shown(&<$type>::from($default)),
                    });
                )*
                $($(<$section_type as $crate::section::Section>::keys(
                    &$crate::section::join(path, $section_key),
                    keys,
                );)*)?
            }

            fn allow_defaults_only(
                &self,
                path: &str,
                reason: &str,
                problems: &mut $crate::error::Problems,
            ) {
                $($crate::section::allow_default_only(
                    &self.$field,
                    &$crate::section::join(path, $key),
                    &<$type>::from($default),
                    reason,
                    problems,
                );)*
                $($($crate::section::Section::allow_defaults_only(
                    &self.$section,
                    &$crate::section::join(path, $section_key),
                    reason,
                    problems,
                );)*)?
            }
        }
    };
}
pub use __section as section;

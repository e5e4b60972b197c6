//! Words of the API with a known set of values that neighbours of other versions may extend.

/// Declares an enum of words. A word that is not known is kept as `Other` and written back as it was: it makes one
/// object invalid, but never a whole list unreadable.
macro_rules! word {
    (
        $(#[$documentation:meta])*
        $name:ident {
            $( $(#[$variant_documentation:meta])* $variant:ident = $text:literal, )*
        }
    ) => {
        $(#[$documentation])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $( $(#[$variant_documentation])* $variant, )*
            /// A word that this version does not know.
            Other(String),
        }

        impl $name {
            /// The words that are known.
            pub const KNOWN: &'static [&'static str] = &[$($text),*];

            /// The word as it is written.
            pub fn as_str(&self) -> &str {
                match self {
                    $( Self::$variant => $text, )*
                    Self::Other(word) => word,
                }
            }
        }

        impl From<String> for $name {
            fn from(word: String) -> Self {
                match word.as_str() {
                    $( $text => Self::$variant, )*
                    _ => Self::Other(word),
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                word.to_owned().into()
            }
        }

        impl From<$name> for String {
            fn from(word: $name) -> Self {
                word.as_str().to_owned()
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::Other(String::new())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": Self::KNOWN })
            }
        }
    };
}
pub(crate) use word;

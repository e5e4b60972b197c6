//! Words of the API with a known set of values, which neighbours of other versions may extend.

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

        $crate::word::schema_of_words!($name);
    };
}
pub(crate) use word;

/// The schema of an enum of words: a text that is one of them.
macro_rules! schema_of_words {
    ($name:ident) => {
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
pub(crate) use schema_of_words;

/// Declares an enum of words that decide what is let through: one that is not known makes the object unreadable, since
/// nobody can tell what it would allow. Its name in the API is for the message that says so.
macro_rules! closed_word {
    (
        $(#[$documentation:meta])*
        $name:ident $field:literal {
            $( $(#[$variant_documentation:meta])* $variant:ident = $text:literal, )*
        }
    ) => {
        $(#[$documentation])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $( $(#[$variant_documentation])* $variant, )*
        }

        impl $name {
            /// The words that are known.
            pub const KNOWN: &'static [&'static str] = &[$($text),*];

            /// The word as it is written.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $( Self::$variant => $text, )*
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::protobuf::Problem;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match word {
                    $( $text => Ok(Self::$variant), )*
                    _ => Err(Self::Err::Word { word: word.to_owned(), known: Self::KNOWN }),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = <String as serde::Deserialize>::deserialize(deserializer)?;
                word.parse().map_err(|problem| serde::de::Error::custom(format_args!("{}: {problem}", $field)))
            }
        }

        $crate::word::schema_of_words!($name);

        impl $crate::protobuf::Field for $name {
            fn write(&self, number: u32, writer: &mut $crate::protobuf::Writer) {
                writer.bytes_field(number, self.as_str().as_bytes());
            }

            fn read(
                slot: &mut Option<Self>,
                value: $crate::protobuf::Value<'_>,
            ) -> Result<(), $crate::protobuf::DecodeError> {
                *slot = Some($crate::protobuf::text(value)?.parse::<Self>()?);
                Ok(())
            }

            fn absent() -> Result<Self, $crate::protobuf::DecodeError> {
                Err($crate::protobuf::Problem::Missing.into())
            }
        }
    };
}
pub(crate) use closed_word;

//! A list of texts in whose place one word may stand.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_saphyr::Spanned;

use crate::section::Value;

/// What a key says that has a list of texts, or one word.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Texts {
    /// A word.
    Word(String),
    /// A list; each text has its place.
    List(Vec<Spanned<String>>),
}

impl Value for Texts {
    fn is_unset(&self) -> bool {
        match self {
            Self::Word(word) => word.is_empty(),
            Self::List(texts) => texts.is_empty(),
        }
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // An enum without tags would be read from a copy that has no places.
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Texts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a word or a list of texts")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Texts, E> {
        Ok(Texts::Word(word.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut texts: A) -> Result<Texts, A::Error> {
        let mut list = Vec::new();
        while let Some(text) = texts.next_element()? {
            list.push(text);
        }
        Ok(Texts::List(list))
    }
}

//! What objects of the aggregated APIs have in common, and their JSON.
//!
//! They say group, version and kind when they stand alone, but not as items of a list: these are constants of the types.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::protobuf::{DecodeError, Message, Problem};

/// A type whose objects are sent alone.
pub trait ApiObject {
    /// Group and version.
    const API_VERSION: &'static str;
    /// The kind.
    const KIND: &'static str;
}

/// A type whose objects are sent as JSON and as protobuf.
pub trait WireObject: ApiObject + Message + Serialize + DeserializeOwned {}

impl<T: ApiObject + Message + Serialize + DeserializeOwned> WireObject for T {}

/// A type whose objects are listed.
pub trait Listed: ApiObject {
    /// The kind of a list of them.
    const LIST_KIND: &'static str;
    /// What URLs call them.
    const PLURAL: &'static str;
}

/// Declares the kind of a type and, of types that are listed, the kind of their list and their name in URLs.
macro_rules! api_object {
    ($type:ident in $api_version:expr) => {
        impl $crate::api::ApiObject for $type {
            const API_VERSION: &'static str = $api_version;
            const KIND: &'static str = stringify!($type);
        }
    };
    ($type:ident in $api_version:expr, $plural:literal) => {
        $crate::api::api_object!($type in $api_version);

        impl $crate::api::Listed for $type {
            const LIST_KIND: &'static str = concat!(stringify!($type), "List");
            const PLURAL: &'static str = $plural;
        }
    };
}
pub(crate) use api_object;

/// An object with its kind, as JSON has it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Typed<'a, T> {
    kind: &'static str,
    api_version: &'static str,
    #[serde(flatten)]
    object: &'a T,
}

impl<'a, T: ApiObject> Typed<'a, T> {
    pub(crate) fn new(object: &'a T) -> Self {
        Self { kind: T::KIND, api_version: T::API_VERSION, object }
    }
}

/// Of which kind an object says it is.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct TypeMeta {
    kind: String,
    api_version: String,
}

impl TypeMeta {
    pub(crate) fn expect<T: ApiObject>(&self) -> Result<(), DecodeError> {
        expect_kind::<T>(&self.api_version, &self.kind)
    }
}

/// The object as JSON, with its kind.
///
/// # Errors
/// None that values of these types bring about.
pub fn to_json<T: ApiObject + Serialize>(object: &T) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&Typed::new(object))
}

/// The object that JSON is.
///
/// # Errors
/// It is no JSON, of another kind, or has a field with a value that its type cannot have.
pub fn from_json<T: ApiObject + DeserializeOwned>(json: &[u8]) -> Result<T, DecodeError> {
    serde_json::from_slice::<TypeMeta>(json)?.expect::<T>()?;
    Ok(serde_json::from_slice(json)?)
}

pub(crate) fn expect_kind<T: ApiObject>(api_version: &str, kind: &str) -> Result<(), DecodeError> {
    if (api_version, kind) == (T::API_VERSION, T::KIND) {
        return Ok(());
    }
    let found = format!("{api_version} {kind}");
    Err(Problem::Kind { found, wanted: format!("{} {}", T::API_VERSION, T::KIND) }.into())
}

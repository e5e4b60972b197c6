//! ConversionReview of ClusterSets: v1alpha1 to v1alpha2 and back (`apiextensions.k8s.io/v1`).

use antrea_shared_api::multicluster::{v1alpha1, v1alpha2};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::surroundings::Surroundings;

/// The version of ConversionReviews that are answered.
pub(crate) const API_VERSION: &str = "apiextensions.k8s.io/v1";
const V1ALPHA1: &str = "multicluster.crd.antrea.io/v1alpha1";
const V1ALPHA2: &str = "multicluster.crd.antrea.io/v1alpha2";

/// What is to be converted.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Request {
    pub(crate) uid: String,
    #[serde(rename = "desiredAPIVersion")]
    desired_api_version: String,
    objects: Vec<Value>,
}

impl Request {
    /// The ConversionReview that answers it: all objects, or none.
    pub(crate) fn answer(&self, surroundings: &Surroundings) -> Value {
        let converted: Result<Vec<Value>, String> = self
            .objects
            .iter()
            .map(|object| convert(object, &self.desired_api_version, surroundings))
            .collect();
        let mut response = match converted {
            Ok(objects) => json!({ "convertedObjects": objects, "result": { "status": "Success" } }),
            Err(message) => json!({ "result": { "status": "Failure", "message": message } }),
        };
        response["uid"] = json!(self.uid);
        json!({ "apiVersion": API_VERSION, "kind": "ConversionReview", "response": response })
    }
}

/// A ClusterSet as the version that is wanted. One that does not tell its own cluster, and that no ClusterClaim tells it
/// of either, is left without: whoever writes it is refused, but lists of old ones stay readable.
///
/// # Errors
/// What cannot be read, or is to be something that there is not.
pub fn convert(object: &Value, wanted: &str, surroundings: &Surroundings) -> Result<Value, String> {
    let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    match (version, wanted) {
        (V1ALPHA1, V1ALPHA1) | (V1ALPHA2, V1ALPHA2) => Ok(object.clone()),
        (V1ALPHA1, V1ALPHA2) => {
            let set: v1alpha1::ClusterSet = read(object)?;
            let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
            let name = set.metadata.name.as_deref().unwrap_or_default();
            let new = set.to_v1alpha2(surroundings.claimed_id(namespace, name));
            Ok(new.map_or_else(|_| without_id(object), |new| json!(new)))
        }
        (V1ALPHA2, V1ALPHA1) => Ok(json!(read::<v1alpha2::ClusterSet>(object)?.to_v1alpha1())),
        _ => {
            Err(format!("{version:?} cannot become {wanted:?}: ClusterSets are of {V1ALPHA1} and {V1ALPHA2}"))
        }
    }
}

fn read<T: DeserializeOwned>(object: &Value) -> Result<T, String> {
    T::deserialize(object).map_err(|error| format!("the ClusterSet cannot be read: {error}"))
}

/// What both versions have, and the API server drops the rest.
fn without_id(object: &Value) -> Value {
    let mut new = object.clone();
    new["apiVersion"] = json!(V1ALPHA2);
    new
}

//! Discovery and OpenAPI documents, which never change while the process runs. All are built on the first request for any of them, and
//! responses share the bytes, so repeated or unread requests cost no CPU to build a document and no memory to hold one.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use hyper::body::Bytes;
use hyper::{HeaderMap, StatusCode};
use serde_json::Value;

use super::accept::{Format, negotiate};
use super::answer::{self, Answer, JSON};
use super::failure::Failure;
use super::{Body, discovery, openapi};

/// A document at a path, which begins and ends without a slash.
pub(super) struct Document {
    pub(super) path: String,
    pub(super) format: Format,
    pub(super) value: Value,
}

impl Document {
    pub(super) fn json(path: impl Into<String>, value: Value) -> Self {
        Self { path: path.into(), format: Format::Json, value }
    }
}

static DOCUMENTS: LazyLock<BTreeMap<String, Forms>> = LazyLock::new(all);

/// The forms that there are of a document, the first of which is the usual one.
type Forms = Vec<(Format, Bytes)>;

fn all() -> BTreeMap<String, Forms> {
    let mut documents = BTreeMap::<String, Forms>::new();
    for Document { path, format, value } in discovery::documents().into_iter().chain(openapi::documents()) {
        documents.entry(path).or_default().push((format, format!("{value}\n").into()));
    }
    documents
}

/// Whether nothing else is at a path.
pub(super) fn are_at(path: &str) -> bool {
    matches!(path.trim_start_matches('/').split('/').next(), Some("api" | "apis" | "openapi"))
}

/// Answers for such a path.
pub(super) fn answer(path: &str, headers: &HeaderMap) -> Result<Answer, Failure> {
    let forms = DOCUMENTS.get(path.trim_matches('/')).ok_or_else(Failure::no_such_path)?;
    let offered: Vec<Format> = forms.iter().map(|(format, _)| *format).collect();
    let wanted = negotiate(headers, &offered).ok_or_else(Failure::not_acceptable)?;
    let document = forms.iter().find(|(format, _)| *format == wanted).map(|(_, document)| document.clone());
    let body = Body::Whole(document.unwrap_or_default().into());
    Ok(answer::answer(StatusCode::OK, content_type(wanted), body))
}

fn content_type(format: Format) -> &'static str {
    match format {
        Format::Discovery("v2") => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        Format::Discovery(_) => "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
        _ => JSON,
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn answers_share_one_document() {
        let mut addresses = Vec::new();
        for path in ["/openapi/v2", "/openapi/v2/"] {
            let mut body = answer(path, &HeaderMap::new()).unwrap().into_body();
            let document = body.frame().await.unwrap().unwrap().into_data().unwrap();
            addresses.push((document.as_ptr(), document.len()));
        }
        assert_eq!(addresses[0], addresses[1]);
        assert!(addresses[0].1 > 10_000);
    }
}

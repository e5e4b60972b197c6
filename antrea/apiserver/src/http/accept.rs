//! In which form a client wants its answer (RFC 9110 §12.5.1, and the parameters of Kubernetes).

use hyper::HeaderMap;
use hyper::header::{ACCEPT, CONTENT_TYPE};

use crate::store::Encoding;

/// A form of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// The object.
    Json,
    /// The object.
    Protobuf,
    /// What kubectl prints of it, in JSON.
    Table,
    /// All groups with their resources, in JSON, of version v2 or v2beta1.
    Discovery(&'static str),
}

/// Without an `Accept` anything is fine.
const ANYTHING: &str = "*/*";

/// How many media ranges are read, and how many parameters of each. Kubernetes clients send three. The limit matters because `Accept`
/// is read before the client is authenticated.
const MOST_RANGES: usize = 16;

/// The first form that the client takes and the server offers. Clients name them in the order of their liking.
pub(crate) fn negotiate(headers: &HeaderMap, offered: &[Format]) -> Option<Format> {
    let mut accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).peekable();
    if accepted.peek().is_none() {
        return form(ANYTHING, offered);
    }
    accepted.flat_map(|value| value.split(',')).take(MOST_RANGES).find_map(|range| form(range, offered))
}

/// The form of a media range.
fn form(range: &str, offered: &[Format]) -> Option<Format> {
    let (media_type, parameters) = parts(range);
    let parameter = |name: &str| {
        parameters.iter().find_map(|(key, value)| key.eq_ignore_ascii_case(name).then_some(*value))
    };
    if parameter("q").is_some_and(|weight| weight.parse() == Ok(0.0)) {
        return None;
    }
    let format = match (media_type.as_str(), parameter("as"), parameter("g"), parameter("v")) {
        ("*/*" | "application/*", None, ..) => return offered.first().copied(),
        ("application/json", None, ..) => Format::Json,
        ("application/vnd.kubernetes.protobuf", None, ..) => Format::Protobuf,
        ("application/json", Some("Table"), Some("meta.k8s.io"), Some("v1")) => Format::Table,
        ("application/json", Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some(version)) => {
            match version {
                "v2" => Format::Discovery("v2"),
                "v2beta1" => Format::Discovery("v2beta1"),
                _ => return None,
            }
        }
        _ => return None,
    };
    offered.contains(&format).then_some(format)
}

fn parts(range: &str) -> (String, Vec<(&str, &str)>) {
    let mut parts = range.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
    (media_type, parts.take(MOST_RANGES).filter_map(|parameter| parameter.split_once('=')).collect())
}

/// The encoding of a request's body; JSON where it does not say.
pub(crate) fn content(headers: &HeaderMap) -> Option<Encoding> {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Some(Encoding::Json) };
    match parts(value.to_str().ok()?).0.as_str() {
        "" | "application/json" => Some(Encoding::Json),
        "application/vnd.kubernetes.protobuf" => Some(Encoding::Protobuf),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Format; 4] = [Format::Json, Format::Protobuf, Format::Table, Format::Discovery("v2")];

    #[track_caller]
    fn check(accept: &str, expected: Option<Format>) {
        let headers = HeaderMap::from_iter([(ACCEPT, accept.parse().unwrap())]);
        assert_eq!(negotiate(&headers, &ALL), expected, "{accept}");
    }

    #[test]
    fn the_first_that_is_understood_counts() {
        check("application/json", Some(Format::Json));
        check("application/vnd.kubernetes.protobuf, application/json", Some(Format::Protobuf));
        check("application/vnd.kubernetes.protobuf;stream=watch", Some(Format::Protobuf));
        check("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", Some(Format::Table));
        check("application/json;as=Table;g=meta.k8s.io;v=v1beta1, application/json", Some(Format::Json));
        check("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", None);
        check("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", Some(ALL[3]));
        check("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList", None);
        check("text/html, */*;q=0.1", Some(Format::Json));
        check("application/json;q=0, application/vnd.kubernetes.protobuf", Some(Format::Protobuf));
        check("text/plain", None);
        check("application/yaml", None);
        check("", None);
        check(&format!("{}application/json", ",".repeat(MOST_RANGES - 1)), Some(Format::Json));
        check(&format!("{}application/json", ",".repeat(MOST_RANGES)), None);
        assert_eq!(negotiate(&HeaderMap::new(), &ALL), Some(Format::Json));
    }

    #[test]
    fn bodies_are_json_unless_they_say_otherwise() {
        let read = |value: &str| content(&HeaderMap::from_iter([(CONTENT_TYPE, value.parse().unwrap())]));
        assert_eq!(content(&HeaderMap::new()), Some(Encoding::Json));
        assert_eq!(read("application/json; charset=utf-8"), Some(Encoding::Json));
        assert_eq!(read("application/vnd.kubernetes.protobuf"), Some(Encoding::Protobuf));
        assert_eq!(read("application/yaml"), None);
    }
}

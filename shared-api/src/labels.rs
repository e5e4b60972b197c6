//! Label identities: the labels of a Pod and of its Namespace as one text, the same in every cluster and in both
//! products. Upstream compares the texts byte by byte.

use std::collections::BTreeMap;
use std::fmt::Write;

use sha1::{Digest, Sha1};

/// Labels by key.
pub type Labels = BTreeMap<String, String>;

/// `ns:KEY=VALUE,…&pod:KEY=VALUE,…` with keys in the order of their bytes; nothing after the colon where there are no
/// labels.
pub fn normalized(namespace: &Labels, pod: &Labels) -> String {
    format!("ns:{}&pod:{}", joined(namespace), joined(pod))
}

fn joined(labels: &Labels) -> String {
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}

/// The name of the LabelIdentity and of the ResourceImport of normalized labels: the first 16 hexadecimal digits, in
/// lower case, of their SHA-1.
pub fn identity_name(normalized: &str) -> String {
    let mut name = String::with_capacity(16);
    for byte in Sha1::digest(normalized).iter().take(8) {
        // Writing to a text does not fail.
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// The labels that a text was normalized of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityLabels {
    /// Of the Namespace.
    pub namespace: Labels,
    /// Of the Pod.
    pub pod: Labels,
}

/// A text that is not what [`normalized`] writes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not of the form \"ns:KEY=VALUE,...&pod:KEY=VALUE,...\" with sorted keys")]
pub struct InvalidLabel(String);

/// Reads what [`normalized`] wrote.
pub fn parse(text: &str) -> Result<IdentityLabels, InvalidLabel> {
    let parts = text.strip_prefix("ns:").and_then(|rest| rest.split_once("&pod:"));
    parts
        .and_then(|(namespace, pod)| Some(IdentityLabels { namespace: split(namespace)?, pod: split(pod)? }))
        .filter(|labels| normalized(&labels.namespace, &labels.pod) == text)
        .ok_or_else(|| InvalidLabel(text.to_owned()))
}

fn split(text: &str) -> Option<Labels> {
    if text.is_empty() {
        return Some(Labels::new());
    }
    text.split(',')
        .map(|label| label.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(text: &str) -> Labels {
        split(text).unwrap()
    }

    #[track_caller]
    fn check(namespace: &str, pod: &str, text: &str) {
        assert_eq!(normalized(&labels(namespace), &labels(pod)), text);
        assert_eq!(parse(text), Ok(IdentityLabels { namespace: labels(namespace), pod: labels(pod) }));
    }

    #[test]
    fn labels_are_sorted_by_key() {
        check(
            "team=a,kubernetes.io/metadata.name=shop",
            "b=2,a=1,B=3",
            "ns:kubernetes.io/metadata.name=shop,team=a&pod:B=3,a=1,b=2",
        );
    }

    #[test]
    fn a_pod_without_labels_has_an_empty_part() {
        check("team=a", "", "ns:team=a&pod:");
        check("", "", "ns:&pod:");
    }

    #[test]
    fn a_label_without_value_keeps_its_equals_sign() {
        check("a=", "b=", "ns:a=&pod:b=");
    }

    #[test]
    fn what_is_not_normalized_is_refused() {
        for text in
            ["", "ns:a=1", "pod:a=1&ns:", "ns:a&pod:", "ns:b=1,a=2&pod:", "ns:a=1,a=1&pod:", "ns:a=1,&pod:"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    /// Names that upstream's leader gave.
    #[test]
    fn names_are_those_of_upstream() {
        for (text, name) in [
            ("ns:kubernetes.io/metadata.name=shop,team=a&pod:app=fe", "3c62ea4851ac2068"),
            ("ns:kubernetes.io/metadata.name=shop,team=a&pod:app=be,tier=b", "54fb98d2754bfaec"),
            ("ns:kubernetes.io/metadata.name=shop,team=a&pod:app=be,only=c5,tier=b", "0bf438e5e1576bf9"),
        ] {
            assert_eq!(identity_name(text), name);
        }
    }
}

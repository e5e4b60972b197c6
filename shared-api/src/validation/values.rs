//! Checks of single values: each says what is wrong with a text, or nothing.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::addresses::{unusable, unusable_part};

/// Nothing is there.
pub fn missing() -> Option<String> {
    Some("is missing".to_owned())
}

/// The problem of a text that has to be there.
fn wrong(text: &str, valid: bool, rule: &str) -> Option<String> {
    if text.is_empty() { missing() } else { (!valid).then(|| format!("{text:?} is {rule}")) }
}

/// The ID of a cluster: a DNS label, since it becomes a label of objects and part of names in DNS.
pub fn id(text: &str) -> Option<String> {
    dns_label(text)
}

/// A DNS label (RFC 1123).
pub fn dns_label(text: &str) -> Option<String> {
    let rule = "not a DNS label: lower-case letters, digits and '-', 63 characters at most, beginning and ending with a \
                letter or digit";
    wrong(text, is_dns_label(text), rule)
}

/// The name of an object: a DNS subdomain (RFC 1123).
pub fn dns_subdomain(text: &str) -> Option<String> {
    let valid = text.len() <= 253 && text.split('.').all(is_dns_label);
    wrong(text, valid, "not a DNS subdomain: DNS labels joined by '.', 253 characters at most")
}

fn is_dns_label(text: &str) -> bool {
    let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.len() <= 63
        && bytes.first().is_some_and(inner)
        && bytes.last().is_some_and(inner)
        && bytes.iter().all(|byte| inner(byte) || *byte == b'-')
}

/// An address of either family.
pub fn ip(text: &str) -> Option<String> {
    wrong(text, text.parse::<IpAddr>().is_ok(), "not an IP address")
}

/// An address that other hosts can reach.
pub fn reachable_ip(text: &str) -> Option<String> {
    let Ok(address) = text.parse::<IpAddr>() else { return ip(text) };
    let kind = unusable(address)?;
    Some(format!("{text:?} cannot be reached by other hosts, as no {kind} address can"))
}

/// A network of either family.
pub fn cidr(text: &str) -> Option<String> {
    wrong(text, text.parse::<IpNet>().is_ok(), "not a CIDR, as 10.96.0.0/12")
}

/// A network whose addresses other hosts can reach.
pub fn reachable_cidr(text: &str) -> Option<String> {
    let Ok(network) = text.parse::<IpNet>() else { return cidr(text) };
    let kind = unusable_part(&network)?;
    Some(format!("{text:?} has addresses that other hosts cannot reach, as no {kind} address can"))
}

/// One of the words that are known.
pub fn one_of(text: &str, known: &[&str]) -> Option<String> {
    wrong(text, known.contains(&text), &format!("none of {}", known.join(", ")))
}

/// Which endpoints of a Service are preferred, in the words that Kubernetes has for it.
pub fn traffic_distribution(text: &str) -> Option<String> {
    one_of(text, &["PreferClose", "PreferSameZone", "PreferSameNode"])
}

/// For how many seconds clients of a Service stay with their endpoint.
pub fn affinity_seconds(seconds: i32) -> Option<String> {
    (!(1..=86_400).contains(&seconds)).then(|| format!("{seconds} is not from 1 to 86400"))
}

/// The URL of an API server.
pub fn server(text: &str) -> Option<String> {
    let host = text.strip_prefix("https://").and_then(|rest| rest.split(['/', '?', '#']).next());
    let valid = host.is_some_and(|host| !host.is_empty()) && !text.contains(char::is_whitespace);
    wrong(text, valid, "not the URL of an API server, as https://192.0.2.1:6443")
}

/// A public key of WireGuard: 32 bytes in base64.
pub fn wireguard_key(text: &str) -> Option<String> {
    let digits = text.strip_suffix('=').unwrap_or_default();
    let valid = digits.len() == 43
        && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte));
    wrong(text, valid, "not a WireGuard key: 32 bytes in base64, 44 characters")
}

/// The key of a label or an annotation, or `appProtocol` of a port: a name, and a DNS subdomain with '/' before it or not.
pub fn qualified_name(text: &str) -> Option<String> {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    let valid = prefix.is_none_or(|prefix| dns_subdomain(prefix).is_none()) && is_name(name);
    (!valid).then(|| format!("{text:?} is not a qualified name, as app or example.org/app"))
}

/// The most bytes of exported annotations and labels. Kubernetes takes 256 KiB of annotations, and those of a ServiceImport
/// have the keys of both once more.
const MOST_METADATA_BYTES: usize = 64 << 10;

/// All annotations that a ServiceImport gets from an export.
pub fn annotations(all: &BTreeMap<String, String>) -> Option<String> {
    (bytes(all) > MOST_METADATA_BYTES).then(|| format!("have more than {MOST_METADATA_BYTES} bytes"))
}

/// All labels that a ServiceImport gets from an export beside these annotations, which count where they are not too many by
/// themselves.
pub fn labels(all: &BTreeMap<String, String>, annotations: &BTreeMap<String, String>) -> Option<String> {
    let beside = Some(bytes(annotations)).filter(|bytes| *bytes <= MOST_METADATA_BYTES).unwrap_or_default();
    let too_many = bytes(all) + beside > MOST_METADATA_BYTES;
    too_many.then(|| format!("have more than {MOST_METADATA_BYTES} bytes together with the annotations"))
}

fn bytes(all: &BTreeMap<String, String>) -> usize {
    all.iter().map(|(key, value)| key.len() + value.len()).sum()
}

/// The value of a label, which may be empty.
pub fn label_value(text: &str) -> Option<String> {
    let rule = "not the value of a label: letters, digits, '-', '_' and '.', 63 characters at most, beginning and \
                ending with a letter or digit";
    wrong(text, is_name(text), rule).filter(|_| !text.is_empty())
}

fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() <= 63
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(what: fn(&str) -> Option<String>, good: &[&str], bad: &[&str]) {
        for text in good {
            assert_eq!(what(text), None);
        }
        for text in bad {
            assert!(what(text).is_some(), "{text:?}");
        }
    }

    #[test]
    fn ids_are_dns_labels() {
        check(id, &["east", "a-1", "1"], &["", "East", "-a", "a-", "a.b", "a_b", &"a".repeat(64)]);
    }

    #[test]
    fn endpoints_have_addresses_that_others_can_reach() {
        check(
            reachable_ip,
            &["10.0.0.1", "2001:db8::1", "169.253.0.1"],
            &[
                "",
                "10.0.0",
                "127.0.0.1",
                "0.0.0.0",
                "0.1.2.3",
                "240.0.0.1",
                "::",
                "::1",
                "224.0.0.1",
                "169.254.1.1",
                "fe80::1",
                "::ffff:127.0.0.1",
            ],
        );
    }

    #[test]
    fn cidrs_have_a_prefix_length() {
        check(
            cidr,
            &["10.0.0.0/8", "10.1.2.3/8", "2001:db8::/64"],
            &["", "10.0.0.0", "10.0.0.0/33", "10.0.0/8"],
        );
    }

    #[test]
    fn networks_that_others_reach_have_no_address_that_they_cannot() {
        check(
            reachable_cidr,
            &["10.96.0.7/32", "10.10.0.0/16", "fd00:10::/56"],
            &["", "10.0.0.0", "0.0.0.0/0", "127.0.0.1/32", "169.254.0.252/30", "::/0"],
        );
    }

    #[test]
    fn servers_are_urls_of_https() {
        check(
            server,
            &["https://a", "https://[::1]:6443", "https://a/b"],
            &["", "http://a", "https://", "https:///a", "https://a b"],
        );
    }

    #[test]
    fn wireguard_keys_have_32_bytes() {
        let (good, short) = (format!("{}=", "aB3+/".repeat(9).split_at(43).0), "YWJj");
        check(wireguard_key, &[&good], &["", short, &"a".repeat(44)]);
    }

    #[test]
    fn keys_of_labels_may_have_a_prefix() {
        check(
            qualified_name,
            &["app", "A_b.c", "example.org/app"],
            &["", "/app", "example.org/", "a/b/c", "-a", "E x/a"],
        );
    }

    #[test]
    fn values_of_labels_may_be_empty() {
        check(label_value, &["", "a", "A_b.c-1"], &["-a", "a b", &"a".repeat(64)]);
    }
}

//! What is asked to be traced: the parameters of `/ovstracing`, as upstream understands them.

use std::net::IpAddr;

use antrea_kit::query::Query;
use antrea_types::IpFamily;

use super::refusal::Refusal;

/// More text than any packet takes.
const LONGEST: usize = 1024;

/// A packet to trace, by what people know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TraceRequest {
    /// Where it comes into the bridge.
    pub(super) port: Option<Peer>,
    pub(super) source: Option<Peer>,
    pub(super) destination: Option<Peer>,
    /// More of it, in the words of ovs-fields(7).
    pub(super) flow: Vec<String>,
    pub(super) family: IpFamily,
}

/// An end of a packet's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    /// An address.
    Ip(IpAddr),
    /// A Pod or a Service.
    Object { namespace: String, name: String },
    /// A port of the bridge.
    Port(String),
}

impl TraceRequest {
    pub(super) fn parse(query: &Query) -> Result<Self, Refusal> {
        let peer = |name, what| query.get(name).map(|text| Peer::parse(text, what)).transpose();
        let port = peer("port", "input port")?;
        if matches!(port, Some(Peer::Ip(_))) {
            return bad("invalid input port format: NAMESPACE/POD or a port of the bridge is wanted");
        }
        let (source, destination) = (peer("source", "source")?, peer("destination", "destination")?);
        let flow = parse_flow(query.get("flow").unwrap_or_default())?;
        let ends: Vec<IpFamily> =
            [&source, &destination].into_iter().flatten().filter_map(Peer::family).collect();
        let family = family(query.get("addressFamily"), &ends, &flow)?;
        if ends.iter().any(|end| *end != family) {
            return bad("source, destination and address family are not of one IP family");
        }
        Ok(Self { port, source, destination, flow, family })
    }
}

impl Peer {
    fn parse(text: &str, what: &str) -> Result<Self, Refusal> {
        if let Ok(ip) = text.parse() {
            return Ok(Self::Ip(ip));
        }
        match text.split('/').collect::<Vec<_>>().as_slice() {
            [port] => Ok(Self::Port((*port).to_owned())),
            // They become parts of a path and of a selector, which the agent asks the API server with: its rights are not
            // those of whoever asks it.
            [namespace, name] if is_name(namespace) && is_name(name) => {
                Ok(Self::Object { namespace: (*namespace).to_owned(), name: (*name).to_owned() })
            }
            _ => bad(&format!(
                "invalid {what} format: NAMESPACE/NAME, an IP address or a port of the bridge is wanted, not {text:?}"
            )),
        }
    }

    const fn family(&self) -> Option<IpFamily> {
        match self {
            Self::Ip(ip) => Some(IpFamily::of(ip)),
            Self::Object { .. } | Self::Port(_) => None,
        }
    }
}

/// Whether it can be the name of a Namespace or of another object (RFC 1123: DNS subdomains, of which Kubernetes bounds the
/// whole and not the labels).
fn is_name(text: &str) -> bool {
    let end = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let label = |label: &str| {
        label.bytes().all(|byte| end(byte) || byte == b'-')
            && label.bytes().next().is_some_and(end)
            && label.bytes().next_back().is_some_and(end)
    };
    text.len() <= 253 && text.split('.').all(label)
}

/// Words with or without a value, between commas.
fn parse_flow(text: &str) -> Result<Vec<String>, Refusal> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:/+=[]".contains(&byte);
    let words: Vec<String> = text.split(',').map(|word| word.trim().to_owned()).collect();
    if text.is_empty() {
        return Ok(Vec::new());
    }
    if text.len() > LONGEST || words.iter().any(|word| word.is_empty() || !word.bytes().all(is_plain)) {
        return bad(
            "invalid flow format: words of ovs-fields(7) between commas are wanted, such as tcp,tcp_dst=80",
        );
    }
    Ok(words)
}

/// What is asked for; else what an address or a protocol says; else IPv4.
fn family(wanted: Option<&str>, ends: &[IpFamily], flow: &[String]) -> Result<IpFamily, Refusal> {
    match wanted {
        Some("4") => Ok(IpFamily::V4),
        Some("6") => Ok(IpFamily::V6),
        Some(other) => bad(&format!("address family {other:?} is none: 4 and 6 are")),
        None if flow.iter().any(|word| is_protocol(word) && word.ends_with('6')) => Ok(IpFamily::V6),
        None => Ok(ends.first().copied().unwrap_or(IpFamily::V4)),
    }
}

/// The words that stand for an ethertype, or for one and an IP protocol.
pub(super) fn is_protocol(word: &str) -> bool {
    const ALL: [&str; 11] =
        ["ip", "icmp", "tcp", "udp", "sctp", "ipv6", "icmp6", "tcp6", "udp6", "sctp6", "arp"];
    ALL.contains(&word)
}

fn bad<T>(message: &str) -> Result<T, Refusal> {
    Err(Refusal::BadRequest(message.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str) -> Result<TraceRequest, String> {
        TraceRequest::parse(&Query::parse(query)).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn ends_are_pods_or_services_addresses_or_ports() {
        let request = check("source=a/b&destination=10.0.0.1&port=antrea-gw0&flow=tcp,+tcp_dst=80").unwrap();
        assert_eq!(request.source, Some(Peer::Object { namespace: "a".into(), name: "b".into() }));
        assert_eq!(request.destination, Some(Peer::Ip("10.0.0.1".parse().unwrap())));
        assert_eq!(request.port, Some(Peer::Port("antrea-gw0".into())));
        assert_eq!(request.flow, ["tcp", "tcp_dst=80"]);
    }

    #[test]
    fn the_family_is_that_of_the_addresses_or_the_protocol() {
        let family = |query: &str| check(query).unwrap().family;
        assert_eq!(family("source=a/b"), IpFamily::V4);
        assert_eq!(family("destination=fd00::1"), IpFamily::V6);
        assert_eq!(family("flow=udp6"), IpFamily::V6);
        assert_eq!(family("source=a/b&addressFamily=6"), IpFamily::V6);
    }

    #[test]
    fn names_that_would_be_more_than_names_in_a_request_are_refused() {
        for (query, error) in [
            ("source=a%3Fx/b", "invalid source format"),
            ("source=a/b,spec.nodeName%3Dn", "invalid source format"),
            ("destination=../b", "invalid destination format"),
            ("destination=a/B", "invalid destination format"),
            ("destination=a/-b", "invalid destination format"),
            ("port=a%23/b", "invalid input port format"),
        ] {
            let refused = check(query).unwrap_err();
            assert!(refused.starts_with(error), "{query}: {refused}");
        }
        let long = "x".repeat(253);
        for query in ["source=kube-system/a-0.b.c9".to_owned(), format!("source=a/{long}")] {
            assert!(check(&query).is_ok(), "{query}");
        }
        assert!(check(&format!("source=a/{long}x")).is_err());
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (query, error) in [
            ("source=a/b/c", "invalid source format"),
            ("destination=/b", "invalid destination format"),
            ("port=10.0.0.1", "invalid input port format"),
            ("flow=tcp%3Brm", "invalid flow format"),
            ("flow=tcp,,udp", "invalid flow format"),
            ("source=10.0.0.1&destination=fd00::1", "source, destination and address family are not of one"),
            ("addressFamily=5", "address family \"5\" is none"),
        ] {
            let refused = check(query).unwrap_err();
            assert!(refused.starts_with(error), "{query}: {refused}");
        }
    }
}

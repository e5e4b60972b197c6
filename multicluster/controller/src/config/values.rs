//! Values that keys of the file may have.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use antrea_config_file::choice;
use antrea_shared_api::validation::values;
use ipnet::IpNet;
use jiff::SignedDuration;

choice! {
    /// Which address of the Gateway's Node other clusters use (`gatewayIPPrecedence`).
    pub(super) Precedence {
        /// The InternalIP.
        Private = "private",
        /// The same.
        Internal = "internal",
        /// The ExternalIP.
        Public = "public",
        /// The same.
        External = "external",
    }
}

choice! {
    /// Which addresses are exported (`endpointIPType`).
    pub(super) EndpointIpType {
        /// Of Services.
        ClusterIp = "ClusterIP",
        /// Of Pods.
        PodIp = "PodIP",
    }
}

choice! {
    /// What a file can be (`kind`).
    pub(super) Kind {
        /// This.
        MultiClusterConfig = "MultiClusterConfig",
    }
}

choice! {
    /// The version of the file (`apiVersion`).
    pub(super) ApiVersion {
        /// The one that there is.
        V1Alpha1 = "multicluster.crd.antrea.io/v1alpha1",
    }
}

/// Where something is listened on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listen {
    /// Nowhere.
    Off,
    /// At this port of all addresses.
    Everywhere(u16),
    /// At this address alone.
    At(SocketAddr),
}

impl FromStr for Listen {
    type Err = &'static str;

    /// As Go programs write it: `:8080`, `127.0.0.1:8080`, `[::1]:8080`; `0` turns it off.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WANTED: &str = "a port as in :8080, an IP address and a port as in 127.0.0.1:8080 or [::1]:8080, or 0 for none is wanted";
        let port = |text: &str| text.parse().ok().filter(|port| *port > 0).ok_or(WANTED);
        match text.strip_prefix(':') {
            Some(text) => port(text).map(Self::Everywhere),
            None if text == "0" => Ok(Self::Off),
            None => {
                let address: SocketAddr = text.parse().map_err(|_| WANTED)?;
                if address.port() == 0 { Err(WANTED) } else { Ok(Self::At(address)) }
            }
        }
    }
}

/// An IP address.
pub(super) struct Host(pub(super) IpAddr);

impl FromStr for Host {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse()
            .map(Self)
            .map_err(|_| "an IP address of this machine is wanted, or nothing for all of them")
    }
}

/// A network.
pub(super) struct Network(pub(super) IpNet);

impl FromStr for Network {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let network: IpNet = text.trim().parse().map_err(|_| "a CIDR is wanted, as 10.10.0.0/16")?;
        Ok(Self(network.trunc()))
    }
}

/// What stands in the place of networks of Pods that Nodes name.
pub(super) const AUTO: &str = "auto";

/// A network of Pods.
pub(super) struct PodNetwork(pub(super) IpNet);

impl FromStr for PodNetwork {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == AUTO {
            return Err("it is the only value where it is given: the networks are those that Nodes have");
        }
        text.parse().map(|Network(network)| Self(network))
    }
}

/// Networks, separated by commas, the preferred family first: at most one of each.
pub(super) struct Networks(pub(super) Vec<IpNet>);

impl FromStr for Networks {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WANTED: &str =
            "a CIDR is wanted, as 10.96.0.0/12, or one of each IP family, separated by a comma";
        let networks: Result<Vec<Network>, _> = text.split(',').map(str::parse).collect();
        let networks: Vec<IpNet> =
            networks.map_err(|_| WANTED)?.into_iter().map(|Network(network)| network).collect();
        match networks.as_slice() {
            [_] => Ok(Self(networks)),
            [first, second] if first.network().is_ipv4() != second.network().is_ipv4() => Ok(Self(networks)),
            _ => Err(WANTED),
        }
    }
}

/// A name of a Namespace.
pub(super) struct NamespaceName(pub(super) String);

impl FromStr for NamespaceName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let valid = values::dns_label(text).is_none();
        valid.then(|| Self(text.to_owned())).ok_or(
            "the name of a Namespace is wanted: lower-case letters, digits and '-', 63 characters at most",
        )
    }
}

/// A name of a Secret.
pub(super) struct SecretName(pub(super) String);

impl FromStr for SecretName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let valid = values::dns_subdomain(text).is_none();
        valid.then(|| Self(text.to_owned())).ok_or(
            "the name of a Secret is wanted: lower-case letters, digits, '-' and '.', 253 characters at most",
        )
    }
}

/// A time of a second or more.
pub(super) struct Span(pub(super) Duration);

/// A text that is no such time.
#[derive(Clone, Copy, Debug)]
pub(super) struct InvalidSpan;

impl fmt::Display for InvalidSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time of 1s or more is wanted, as in 90s, 5m or 168h")
    }
}

impl FromStr for Span {
    type Err = InvalidSpan;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let span: SignedDuration = text.parse().map_err(|_| InvalidSpan)?;
        let span = Duration::try_from(span).map_err(|_| InvalidSpan)?;
        if span < Duration::from_secs(1) { Err(InvalidSpan) } else { Ok(Self(span)) }
    }
}

/// How long a token lasts.
pub(super) struct Lifetime(pub(super) Duration);

impl FromStr for Lifetime {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let lifetime = text.parse().ok().filter(|Span(span)| *span >= Duration::from_secs(600));
        let lifetime = lifetime.map(|Span(span)| Self(span));
        lifetime
            .ok_or("a time of 10m or more is wanted, as in 24h or 168h: API servers grant no shorter ones")
    }
}

/// A size of 1 KiB or more.
pub(super) struct Bytes(pub(super) usize);

impl FromStr for Bytes {
    type Err = &'static str;

    /// As Kubernetes writes quantities with units of 1,024: `64Mi`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WANTED: &str = "a size of 1Ki or more is wanted, as in 512Ki, 64Mi or 1Gi";
        let units = [("Ki", 10), ("Mi", 20), ("Gi", 30)];
        let (number, shift) = units
            .into_iter()
            .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)))
            .unwrap_or((text, 0));
        let bytes = number.parse::<usize>().ok().and_then(|number| number.checked_mul(1 << shift));
        bytes.filter(|bytes| *bytes >= 1 << 10).map(Self).ok_or(WANTED)
    }
}

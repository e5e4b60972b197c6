//! Values of flags.

use std::net::IpAddr;
use std::time::Duration;

use antrea_shared_api::validation::values;
use ipnet::IpNet;

/// How long a token is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// Until it is deleted, as all tokens of upstream.
    Forever,
    /// A token of the API server's TokenRequest.
    Limited(Duration),
}

/// The shortest lifetime that API servers grant.
const SHORTEST: Duration = Duration::from_secs(600);

/// The lifetime of tokens that nobody has named one for.
pub(crate) const WEEK: Lifetime = Lifetime::Limited(Duration::from_secs(7 * 24 * 3600));

impl Lifetime {
    /// What tokens of a member may last, if that is longer than usual. Those that never expire are not renewed.
    pub(crate) fn more_than_usual(self) -> Option<Duration> {
        match (self, WEEK) {
            (Self::Limited(wanted), Self::Limited(usual)) if wanted > usual => Some(wanted),
            _ => None,
        }
    }
}

/// A DNS label.
pub(crate) fn id(text: &str) -> Result<String, String> {
    values::id(text).map_or_else(|| Ok(text.to_owned()), Err)
}

/// `10.96.0.0/16,10.10.0.0/16`, as it stands in an annotation.
pub(crate) fn networks(text: &str) -> Result<String, String> {
    let network = |text: &str| text.trim().parse::<IpNet>().map(|network| network.trunc().to_string());
    let networks: Result<Vec<String>, _> = text.split(',').map(network).collect();
    networks
        .map(|networks| networks.join(","))
        .map_err(|_| "expected CIDRs, as 10.96.0.0/16,10.10.0.0/16".to_owned())
}

/// `172.18.0.5,172.18.1.0/24`, as it stands in an annotation.
pub(crate) fn gateways(text: &str) -> Result<String, String> {
    let one = |text: &str| match text.trim().parse::<IpAddr>() {
        Ok(address) => Some(address.to_string()),
        Err(_) => text.trim().parse::<IpNet>().ok().map(|network| network.trunc().to_string()),
    };
    let all: Option<Vec<String>> = text.split(',').map(one).collect();
    all.map(|all| all.join(","))
        .ok_or_else(|| "expected addresses or CIDRs, as 172.18.0.5,172.18.1.0/24".to_owned())
}

/// `168h`, or `never`.
pub(crate) fn lifetime(text: &str) -> Result<Lifetime, String> {
    if text == "never" {
        return Ok(Lifetime::Forever);
    }
    match duration(text)? {
        short if short < SHORTEST => Err("API servers grant ten minutes at least: 10m".to_owned()),
        long => Ok(Lifetime::Limited(long)),
    }
}

/// `90s`, `10m`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let span: jiff::SignedDuration =
        text.parse().map_err(|_| "expected a time, as 90s, 10m or 168h".to_owned())?;
    span.try_into().map_err(|_| "a time cannot be negative".to_owned())
}

/// `latest`, or the version of this antctl-mc: what it has with it.
pub(crate) fn own_version(text: &str) -> Result<String, String> {
    let own = env!("CARGO_PKG_VERSION");
    match text.strip_prefix('v').unwrap_or(text) {
        "latest" => Ok(own.to_owned()),
        version if version == own => Ok(own.to_owned()),
        _ => Err(format!(
            "this antctl-mc has the manifests of v{own}: take the antctl-mc of {text}, or its manifest with --manifest-file"
        )),
    }
}

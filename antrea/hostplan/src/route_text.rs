//! Reads routes as `ip route show` prints them.

use std::net::IpAddr;
use std::str::FromStr;

use antrea_types::{InterfaceName, InvalidName, IpFamily};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::{InvalidNumber, NextHop, Route, RouteProtocol, RouteTable, Scope};

/// Text that is not a route.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRoute {
    /// The destination is neither an address, nor a network, nor `default`.
    #[error("{0:?} is not the destination of a route: ADDRESS, ADDRESS/LENGTH or `default` is wanted")]
    Destination(String),
    /// What follows `via` or `src` is not an address.
    #[error("{text:?} after `{word}` is not an IP address")]
    Address {
        /// The word before.
        word: &'static str,
        /// What was found.
        text: String,
    },
    /// There is no `dev`.
    #[error("a route needs an interface: `dev NAME` is missing")]
    NoDevice,
    /// What follows `dev` is not the name of an interface.
    #[error("the interface of a route cannot be read")]
    Device(#[source] InvalidName),
    /// A scope, protocol, table or metric is unknown.
    #[error("a number of a route cannot be read")]
    Number(#[source] InvalidNumber),
    /// The metric is not a number.
    #[error("{0:?} is not the metric of a route")]
    Metric(String),
    /// A word that has no meaning for a route, or `onlink` without `via`.
    #[error("{0:?} has no meaning in a route")]
    Word(String),
}

#[derive(Default)]
struct Words<'a> {
    via: Option<IpAddr>,
    device: Option<&'a str>,
    source: Option<IpAddr>,
    scope: Option<Scope>,
    protocol: Option<RouteProtocol>,
    table: Option<RouteTable>,
    metric: Option<u32>,
    on_link: Option<&'a str>,
}

impl FromStr for Route {
    type Err = InvalidRoute;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut words = text.split_whitespace();
        let destination = words.next().unwrap_or_default();
        let words = read_words(words)?;
        let device: InterfaceName =
            words.device.ok_or(InvalidRoute::NoDevice)?.parse().map_err(InvalidRoute::Device)?;
        let destination = read_destination(destination, words.via.or(words.source))?;
        let next_hop = match (words.via, words.on_link) {
            (None, None) => NextHop::Link,
            (Some(gateway), None) => NextHop::Via(gateway),
            (Some(gateway), Some(_)) => NextHop::ViaOnLink(gateway),
            (None, Some(word)) => return Err(InvalidRoute::Word(word.to_owned())),
        };
        Ok(Self {
            table: words.table.unwrap_or(RouteTable::MAIN),
            next_hop,
            destination,
            device,
            source: words.source,
            scope: words.scope.unwrap_or(Scope::GLOBAL),
            protocol: words.protocol.unwrap_or(RouteProtocol::BOOT),
            metric: words.metric,
        })
    }
}

fn read_words<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<Words<'a>, InvalidRoute> {
    let mut read = Words::default();
    while let Some(word) = words.next() {
        if word == "onlink" {
            read.on_link = Some(word);
            continue;
        }
        let value = words.next().unwrap_or_default();
        match word {
            "via" => read.via = Some(read_address("via", value)?),
            "src" => read.source = Some(read_address("src", value)?),
            "dev" => read.device = Some(value),
            "scope" => read.scope = Some(value.parse().map_err(InvalidRoute::Number)?),
            "proto" => read.protocol = Some(value.parse().map_err(InvalidRoute::Number)?),
            "table" => read.table = Some(value.parse().map_err(InvalidRoute::Number)?),
            "metric" => {
                read.metric = Some(value.parse().map_err(|_| InvalidRoute::Metric(value.to_owned()))?);
            }
            other => return Err(InvalidRoute::Word(other.to_owned())),
        }
    }
    Ok(read)
}

fn read_address(word: &'static str, text: &str) -> Result<IpAddr, InvalidRoute> {
    text.parse().map_err(|_| InvalidRoute::Address { word, text: text.to_owned() })
}

/// `default` is of the family of `hint`, and IPv4 without one.
fn read_destination(text: &str, hint: Option<IpAddr>) -> Result<IpNet, InvalidRoute> {
    if text == "default" {
        return Ok(match hint.map_or(IpFamily::V4, |ip| IpFamily::of(&ip)) {
            IpFamily::V4 => IpNet::V4(Ipv4Net::default()),
            IpFamily::V6 => IpNet::V6(Ipv6Net::default()),
        });
    }
    text.parse::<IpNet>()
        .map(|net| net.trunc())
        .or_else(|_| text.parse::<IpAddr>().map(IpNet::from))
        .map_err(|_| InvalidRoute::Destination(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_read_and_written_as_ip_route_prints_it() {
        for text in [
            "default via 172.18.0.1 dev br-phy",
            "10.11.0.0/24 dev antrea-gw0 scope link src 10.11.0.1",
            "10.11.1.0/24 via 10.11.1.1 dev antrea-gw0 onlink",
            "172.18.0.0/16 dev br-phy proto kernel scope link src 172.18.2.11",
            "default via fe80::1 dev eth1 proto ra metric 100",
            "fd00:11:1::1 dev antrea-gw0",
            "::/0 dev eth1",
            "default dev eth1 scope link",
            "10.0.0.1 via 10.1.0.1 dev eth1 table 101 proto static",
        ] {
            assert_eq!(text.parse::<Route>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_text_is_refused_with_the_reason() {
        for (text, reason) in [
            ("", "a route needs an interface: `dev NAME` is missing"),
            ("default via 10.0.0.1", "a route needs an interface: `dev NAME` is missing"),
            (
                "ten dev eth0",
                "\"ten\" is not the destination of a route: ADDRESS, ADDRESS/LENGTH or `default` is wanted",
            ),
            ("default via gw dev eth0", "\"gw\" after `via` is not an IP address"),
            ("default dev eth0 onlink", "\"onlink\" has no meaning in a route"),
            ("default dev eth0 mtu 1400", "\"mtu\" has no meaning in a route"),
        ] {
            assert_eq!(text.parse::<Route>().unwrap_err().to_string(), reason, "{text}");
        }
    }

    #[test]
    fn builders_say_what_ip_route_would() {
        let gateway: InterfaceName = "antrea-gw0".parse().unwrap();
        let own = Route::link("10.11.0.0/24".parse().unwrap(), &gateway).source("10.11.0.1".parse().unwrap());
        assert_eq!(own.to_string(), "10.11.0.0/24 dev antrea-gw0 scope link src 10.11.0.1");
        let peer =
            Route::via_on_link("10.11.1.7/24".parse().unwrap(), "10.11.1.1".parse().unwrap(), &gateway);
        assert_eq!(peer.to_string(), "10.11.1.0/24 via 10.11.1.1 dev antrea-gw0 onlink");
        let peer_gateway = Route::link("fd00::1/128".parse().unwrap(), &gateway);
        assert_eq!(peer_gateway.to_string(), "fd00::1 dev antrea-gw0");
    }
}

//! The state of an uplink as one line of text, kept in OVSDB so that it survives restarts:
//! `eth1 mac 02:00:00:00:00:01 mtu 1500; address 172.18.2.11/16; route default via 172.18.0.1 dev eth1`.

use std::fmt;
use std::str::FromStr;

use antrea_types::{InterfaceName, InvalidMacAddr, InvalidName, MacAddr};

use crate::{InvalidAddress, InvalidRoute, UplinkState};

/// Text that is not the state of an uplink.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUplinkState {
    /// The first part is not `INTERFACE mac MAC mtu MTU`.
    #[error("{0:?} does not begin the state of an uplink: `INTERFACE mac MAC mtu MTU` is wanted")]
    Start(String),
    /// The name of the interface is invalid.
    #[error("the interface of an uplink cannot be read")]
    Interface(#[source] InvalidName),
    /// The MAC address is invalid.
    #[error("the MAC address of an uplink cannot be read")]
    Mac(#[source] InvalidMacAddr),
    /// An address is invalid.
    #[error("an address of an uplink cannot be read")]
    Address(#[source] InvalidAddress),
    /// A route is invalid.
    #[error("a route of an uplink cannot be read")]
    Route(#[source] InvalidRoute),
    /// A part is neither an address nor a route.
    #[error("{0:?} has no meaning in the state of an uplink: `address …` and `route …` are known")]
    Part(String),
}

impl fmt::Display for UplinkState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} mac {} mtu {}", self.interface, self.mac, self.mtu)?;
        for address in &self.addresses {
            write!(f, "; address {address}")?;
        }
        for route in &self.routes {
            write!(f, "; route {route}")?;
        }
        Ok(())
    }
}

impl FromStr for UplinkState {
    type Err = InvalidUplinkState;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split(';').map(str::trim);
        let (interface, mac, mtu) = read_start(parts.next().unwrap_or_default())?;
        let mut state = Self { interface, mac, mtu, addresses: Vec::new(), routes: Vec::new() };
        for part in parts {
            match part.split_once(' ') {
                Some(("address", rest)) => {
                    state.addresses.push(rest.parse().map_err(InvalidUplinkState::Address)?);
                }
                Some(("route", rest)) => state.routes.push(rest.parse().map_err(InvalidUplinkState::Route)?),
                _ => return Err(InvalidUplinkState::Part(part.to_owned())),
            }
        }
        Ok(state)
    }
}

fn read_start(text: &str) -> Result<(InterfaceName, MacAddr, u32), InvalidUplinkState> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let &[interface, "mac", mac, "mtu", mtu] = words.as_slice() else {
        return Err(InvalidUplinkState::Start(text.to_owned()));
    };
    Ok((
        interface.parse().map_err(InvalidUplinkState::Interface)?,
        mac.parse().map_err(InvalidUplinkState::Mac)?,
        mtu.parse().map_err(|_| InvalidUplinkState::Start(text.to_owned()))?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_read_and_written_alike() {
        for text in [
            "eth1 mac 02:00:00:00:00:01 mtu 1500",
            "eth1 mac 02:00:00:00:00:01 mtu 9000; address 172.18.2.11/16; address fd00:18::11/64 noprefixroute; \
             route 172.18.0.1 dev eth1 scope link; route default via 172.18.0.1 dev eth1; route default via fe80::1 dev eth1 metric 7",
        ] {
            assert_eq!(text.parse::<UplinkState>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "eth1",
            "eth1 mac 02:00:00:00:00:01 mtu x",
            "eth1 mac 02:00:00:00:00:01 mtu 1500; dns 1.1.1.1",
        ] {
            assert!(text.parse::<UplinkState>().is_err(), "{text}");
        }
    }
}

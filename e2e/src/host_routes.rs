//! The networks that the host has routes to, read from /proc: this happens before any package is installed, and a
//! fresh Debian has no `ip`.

use std::net::{Ipv4Addr, Ipv6Addr};

use anyhow::{Context, Result};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::state::read_if_there;

/// The networks that the host has routes to, default routes left out.
///
/// # Errors
/// When /proc cannot be read, or has another format than the kernel's.
pub fn networks() -> Result<Vec<IpNet>> {
    let mut networks = read("/proc/net/route", parse_v4)?;
    networks.extend(read("/proc/net/ipv6_route", parse_v6)?);
    networks.retain(|network| network.prefix_len() > 0);
    Ok(networks)
}

/// Where a family is off there is no such file, and nothing to overlap.
fn read(path: &str, parse: impl FnOnce(&str) -> Result<Vec<IpNet>>) -> Result<Vec<IpNet>> {
    let text = read_if_there(path.as_ref())?.unwrap_or_default();
    parse(&text).with_context(|| format!("cannot understand {path}"))
}

/// The second column is the destination, the eighth the mask, both as numbers of this machine's byte order.
fn parse_v4(text: &str) -> Result<Vec<IpNet>> {
    let network = |line: &str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let address = |column: usize| {
            let number = u32::from_str_radix(columns.get(column)?, 16).ok()?;
            Some(Ipv4Addr::from(number.to_ne_bytes()))
        };
        let network = Ipv4Net::with_netmask(address(1)?, address(7)?).ok()?;
        Some(IpNet::V4(network))
    };
    let lines = text.lines().skip(1);
    lines.map(|line| network(line).with_context(|| format!("{line:?} is no route"))).collect()
}

/// The first column is the destination, the second the length of its prefix. Addresses of this host are among them.
fn parse_v6(text: &str) -> Result<Vec<IpNet>> {
    let network = |line: &str| {
        let mut columns = line.split_whitespace();
        let address = u128::from_str_radix(columns.next()?, 16).ok()?;
        let prefix = u8::from_str_radix(columns.next()?, 16).ok()?;
        Ipv6Net::new(Ipv6Addr::from_bits(address), prefix).ok().map(IpNet::V6)
    };
    text.lines().map(|line| network(line).with_context(|| format!("{line:?} is no route"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(networks: &Result<Vec<IpNet>>) -> Vec<String> {
        networks.as_ref().unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn routes_of_ipv4_are_read() {
        let routes = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
             eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
             eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
             *\t000012AC\t00000000\t0201\t0\t0\t0\t0000FFFF\t0\t0\t0\n\
             eth0\t0302010A\t010200C0\t0007\t0\t0\t0\tFFFFFFFF\t0\t0\t0\n";
        let expected = ["0.0.0.0/0", "192.0.2.0/24", "172.18.0.0/16", "10.1.2.3/32"];
        assert_eq!(text(&parse_v4(routes)), expected);
    }

    #[test]
    fn routes_of_ipv6_are_read() {
        let none = "00000000000000000000000000000000";
        let routes = format!(
            "fd000172001800000000000000000000 30 {none} 00 {none} 00000400 00000001 00000000 00000001     eth0\n\
             {none} 00 {none} 00 fd000000000000000000000000000001 00000400 00000003 00000000 00000003     eth0\n"
        );
        assert_eq!(text(&parse_v6(&routes)), ["fd00:172:18::/48", "::/0"]);
    }

    #[test]
    fn a_line_that_is_no_route_is_shown() {
        assert_eq!(parse_v6("nonsense\n").unwrap_err().to_string(), "\"nonsense\" is no route");
    }

    #[test]
    fn this_host_has_routes_that_can_be_read() {
        assert!(networks().unwrap().iter().all(|network| network.prefix_len() > 0));
    }
}

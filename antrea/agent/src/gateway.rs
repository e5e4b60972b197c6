//! The gateway interface: the Node's end of the link to its Pods.

use std::net::IpAddr;

use antrea_host::{LinkSettings, Netlink};
use antrea_hostplan::Address;
use antrea_types::{DualStack, InterfaceName, MacAddr};
use anyhow::{Context, Result};
use ipnet::IpNet;
use tracing::info;

/// Sets the gateway up with exactly these addresses, one for each Pod CIDR, beside the link-local ones.
pub(crate) async fn configure(
    netlink: &Netlink,
    name: &InterfaceName,
    mac: MacAddr,
    addresses: &DualStack<IpNet>,
) -> Result<()> {
    let settings = LinkSettings { mac: Some(mac), ..LinkSettings::up() };
    netlink
        .ensure_link(name, &settings)
        .await
        .with_context(|| format!("cannot set up the gateway {name}"))?;
    let wanted: Vec<Address> = addresses.iter().copied().map(Address::global).collect();
    for address in netlink.addresses(name).await? {
        if !address.is_local() && !wanted.iter().any(|one| one.net == address.net) {
            netlink.delete_address(name, &address).await?;
            info!(gateway = %name, %address, "Removed an address that the gateway is not to have");
        }
    }
    for address in wanted {
        netlink.ensure_address(name, &address).await?;
    }
    Ok(())
}

/// The gateway's address in each Pod CIDR, with the length of the CIDR's prefix.
pub(crate) fn addresses(pod_cidrs: &DualStack<IpNet>, ips: &DualStack<IpAddr>) -> DualStack<IpNet> {
    let pairs = pod_cidrs.iter().zip(ips.iter());
    pairs.filter_map(|(cidr, ip)| IpNet::new(*ip, cidr.prefix_len()).ok()).collect()
}

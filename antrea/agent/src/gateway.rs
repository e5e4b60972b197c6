//! The gateway interface: the Node's end of the link to its Pods.

use antrea_agent_routing::gateway_ip;
use antrea_host::{LinkSettings, Netlink};
use antrea_hostplan::Address;
use antrea_types::{DualStack, InterfaceName, MacAddr};
use anyhow::{Context, Result};
use ipnet::IpNet;
use tracing::info;

/// The gateway interface and what it shall have.
#[derive(Clone, Debug)]
pub(crate) struct GatewayInterface {
    pub(crate) name: InterfaceName,
    pub(crate) mac: MacAddr,
    pub(crate) addresses: DualStack<IpNet>,
}

impl GatewayInterface {
    /// Sets the gateway up with exactly its addresses, one for each Pod CIDR, beside the link-local ones.
    pub(crate) async fn configure(&self, netlink: &Netlink) -> Result<()> {
        let Self { name, mac, addresses } = self;
        let settings = LinkSettings { mac: Some(*mac), ..LinkSettings::up() };
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
}

/// The gateway's address in each Pod CIDR, with the length of the CIDR's prefix.
pub(crate) fn addresses(pod_cidrs: &DualStack<IpNet>) -> DualStack<IpNet> {
    let address = |cidr: &IpNet| IpNet::new(gateway_ip(*cidr)?, cidr.prefix_len()).ok();
    pod_cidrs.iter().filter_map(address).collect()
}

//! The link of a Pod: what the kernel is to have, made, compared and announced by `antrea-host`.

use antrea_cni::error::CniError;
use antrea_cni::proto::ErrorCode;
use antrea_host::announce::{AnnounceError, announce};
use antrea_host::netlink::Link;
use antrea_host::{Netns, PodInterface, pod_interface};
use antrea_types::InterfaceName;
use tracing::warn;

use crate::commands::{Commands, failed};
use crate::interface::ContainerInterface;
use crate::interface_store::StoredContainer;
use crate::ipam::Allocation;
use crate::request::AttachRequest;
use crate::result::End;

impl Commands {
    /// Makes the link, and returns its end on the Node and its end in the Pod.
    pub(crate) async fn create_link(
        &self,
        request: &AttachRequest,
        name: &InterfaceName,
        allocations: &[Allocation],
    ) -> Result<(End, End), CniError> {
        let wanted = PodInterface {
            netns: self.netns_path(request).into(),
            host_name: name.clone(),
            name: request.target.interface.clone(),
            mac: None,
            mtu: self.mtu(request),
            addresses: allocations.iter().map(|allocation| allocation.address).collect(),
            gateways: allocations.iter().map(|allocation| allocation.gateway).collect(),
            checksum_offload: self.settings.tx_checksum_offload,
            host_ingress: self.settings.host_ingress,
        };
        let turn = self.link_turns.acquire().await;
        let created = pod_interface::create(&self.node.netlink, &wanted).await;
        drop(turn);
        let created = created.map_err(|error| failed("cannot create the link", name, &error))?;
        Ok((end(created.host)?, end(created.container)?))
    }

    /// The link's end on the Node, when nothing is wrong with the link.
    pub(crate) async fn intact_link(
        &self,
        stored: &StoredContainer,
        allocations: &[Allocation],
        mtu: u32,
    ) -> Result<Option<End>, CniError> {
        if !self.link_problems(stored, allocations, mtu).await?.is_empty() {
            return Ok(None);
        }
        let link = self.node.netlink.link(&stored.name).await;
        let link = link.map_err(|error| failed("cannot find the link", &stored.name, &error))?;
        Ok(link.and_then(|link| Some(End { mac: link.mac?, name: link.name })))
    }

    /// What is wrong with the link, a sentence each.
    pub(crate) async fn link_problems(
        &self,
        stored: &StoredContainer,
        allocations: &[Allocation],
        mtu: u32,
    ) -> Result<Vec<String>, CniError> {
        let wanted = PodInterface {
            netns: stored.container.netns.clone().into(),
            host_name: stored.name.clone(),
            name: stored.container.interface.clone(),
            mac: Some(stored.container.mac),
            mtu,
            addresses: allocations.iter().map(|allocation| allocation.address).collect(),
            gateways: allocations.iter().map(|allocation| allocation.gateway).collect(),
            checksum_offload: self.settings.tx_checksum_offload,
            host_ingress: self.settings.host_ingress,
        };
        let problems = pod_interface::check(&self.node.netlink, &wanted).await;
        let problems = problems.map_err(|error| failed("cannot check the link", &stored.name, &error))?;
        Ok(problems.iter().map(ToString::to_string).collect())
    }

    /// Tells the Pod's neighbours where its addresses are now, without making ADD wait: the kernel takes long to close
    /// the socket. Who misses it finds out by asking.
    pub(crate) fn announce(&self, container: ContainerInterface) {
        tokio::spawn(async move {
            if let Err(error) = announce_addresses(&container).await {
                warn!(pod = %container.pod, error = %CniError::from_chain(ErrorCode::Unknown, &error), "Cannot announce");
            }
        });
    }

    /// Removes the link, if it is there.
    pub(crate) async fn delete_link(&self, name: &InterfaceName) -> Result<(), CniError> {
        let deleted = pod_interface::delete(&self.node.netlink, name).await;
        deleted.map(drop).map_err(|error| failed("cannot remove the link", name, &error))
    }
}

async fn announce_addresses(container: &ContainerInterface) -> Result<(), AnnounceError> {
    let ips: Vec<_> = container.ips.iter().copied().collect();
    announce(&Netns::open(&container.netns)?, &container.interface, container.mac, &ips).await
}

fn end(link: Link) -> Result<End, CniError> {
    let no_mac = || {
        let message = format!("the kernel gave interface {} no MAC address", link.name);
        CniError::new(ErrorCode::ConfigInterfaceFailure, message)
    };
    Ok(End { mac: link.mac.ok_or_else(no_mac)?, name: link.name })
}

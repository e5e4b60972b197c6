//! Keeps the Node's own stack away from what arrives at a port of a userspace (`netdev`) OVS bridge.
//!
//! The userspace datapath reads such a port through a packet socket, which gets a copy: the kernel handles each frame
//! as well, answers ARP for the gateway with the wrong address, and delivers twice. A chain at the ingress hook of the
//! device that drops everything leaves OVS as the only reader, since packet sockets are served before the hook.
//! The same as
//! `nft add chain netdev antrea ingress-DEVICE { type filter hook ingress device DEVICE priority 0; policy drop; }`.

use std::io;
use std::sync::Arc;

use antrea_types::InterfaceName;

use crate::device_chain::{
    ChainPolicy, DeviceChainError, DeviceHook, NFTA_CHAIN_NAME, NFTA_CHAIN_TABLE, TABLE, create, delete,
    named,
};
use crate::nfnetlink::{Attributes, Batch, NftFamily, NftMessage, Nftables, text_attribute};
use crate::{Netlink, Outcome};

const HOOK: DeviceHook = DeviceHook::Ingress;

/// The ingress drops of a namespace.
#[derive(Debug)]
pub(crate) struct IngressDrops(Arc<Nftables>);

impl IngressDrops {
    /// Those of the namespace of the calling thread.
    fn current() -> Result<Self, DeviceChainError> {
        let nftables = Nftables::current().map_err(no_connection)?;
        Ok(Self(Arc::new(nftables)))
    }

    /// Those of the namespace of a connection that is kept.
    pub(crate) async fn of(node: &Netlink) -> Result<Self, DeviceChainError> {
        node.nftables().await.map(Self).map_err(no_connection)
    }

    /// As [`drop_ingress`].
    pub(crate) async fn add(&self, device: &InterfaceName) -> Result<(), DeviceChainError> {
        let addition = create(Batch::new(NftFamily::Netdev), &HOOK.chain(device, ChainPolicy::Drop));
        let committed = self.0.commit(addition).await;
        committed.map_err(|source| HOOK.error(format!("drop what arrives at {device}"), source))
    }

    /// As [`stop_dropping_ingress`].
    pub(crate) async fn remove(&self, device: &InterfaceName) -> Result<Outcome, DeviceChainError> {
        delete(&self.0, NftMessage::DeleteChain, &named(&HOOK.chain_name(device)))
            .await
            .map_err(|source| HOOK.error(format!("stop dropping what arrives at {device}"), source))
    }

    /// As [`ingress_drops`].
    pub(crate) async fn list(&self) -> Result<Vec<InterfaceName>, DeviceChainError> {
        let read = |attributes: &[u8]| {
            let ours = text_attribute(attributes, NFTA_CHAIN_TABLE)? == TABLE;
            let name = text_attribute(attributes, NFTA_CHAIN_NAME).filter(|_| ours)?;
            name.strip_prefix(HOOK.chain_prefix())?.parse().ok()
        };
        let chains = self.0.dump(NftFamily::Netdev, NftMessage::GetChain, &Attributes::default(), read).await;
        let mut devices: Vec<InterfaceName> =
            chains.map_err(|source| HOOK.error("list chains of nf_tables".to_owned(), source))?;
        devices.sort();
        Ok(devices)
    }
}

/// Drops all that arrives at a device, before the Node's own stack. Repeating it changes nothing.
///
/// # Errors
/// There is no such device, or the kernel refuses.
pub async fn drop_ingress(device: &InterfaceName) -> Result<(), DeviceChainError> {
    IngressDrops::current()?.add(device).await
}

/// Lets the Node's stack have what arrives at a device again. The device need not exist any more.
///
/// # Errors
/// The kernel refuses.
pub async fn stop_dropping_ingress(device: &InterfaceName) -> Result<Outcome, DeviceChainError> {
    IngressDrops::current()?.remove(device).await
}

/// The devices that have a chain of ours, sorted; some may not exist any more.
///
/// # Errors
/// The kernel cannot be asked.
pub async fn ingress_drops() -> Result<Vec<InterfaceName>, DeviceChainError> {
    IngressDrops::current()?.list().await
}

fn no_connection(source: io::Error) -> DeviceChainError {
    HOOK.error("connect to nf_tables".to_owned(), source)
}

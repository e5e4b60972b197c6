//! Keeps the Node's own stack away from what arrives at a port of a userspace (`netdev`) OVS bridge.
//!
//! The userspace datapath reads such a port through a packet socket, which gets a copy: the kernel handles each frame
//! as well, answers ARP for the gateway with the wrong address, and delivers twice. A chain at the ingress hook of the
//! device that drops everything leaves OVS as the only reader, since packet sockets are served before the hook.
//! The same as
//! `nft add chain netdev antrea ingress-DEVICE { type filter hook ingress device DEVICE priority 0; policy drop; }`.

use std::io;

use antrea_types::InterfaceName;
use netlink_packet_core::NLM_F_CREATE;
use nix::errno::Errno;

use crate::Outcome;
use crate::nfnetlink::{Attributes, Batch, NftFamily, NftMessage, Nftables, text_attribute};

const TABLE: &str = "antrea";
const CHAIN_PREFIX: &str = "ingress-";

// Attributes of linux/netfilter/nf_tables.h.
const NFTA_TABLE_NAME: u16 = 1;
const NFTA_CHAIN_TABLE: u16 = 1;
const NFTA_CHAIN_NAME: u16 = 3;
const NFTA_CHAIN_HOOK: u16 = 4;
const NFTA_CHAIN_POLICY: u16 = 5;
const NFTA_CHAIN_TYPE: u16 = 7;
const NFTA_HOOK_HOOKNUM: u16 = 1;
const NFTA_HOOK_PRIORITY: u16 = 2;
const NFTA_HOOK_DEV: u16 = 3;
const NF_NETDEV_INGRESS: u32 = 0;
const NF_DROP: u32 = 0;

/// The ingress drop of a device cannot be set, removed or listed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation}; the kernel needs nf_tables with the netdev family")]
pub struct IngressDropError {
    operation: String,
    #[source]
    source: io::Error,
}

/// The ingress drops of a namespace, by a connection that is kept.
#[derive(Debug)]
pub(crate) struct IngressDrops(Nftables);

impl IngressDrops {
    /// Those of the namespace of the calling thread.
    pub(crate) fn current() -> Result<Self, IngressDropError> {
        Nftables::current().map(Self).map_err(|source| error("connect to nf_tables".to_owned(), source))
    }

    /// As [`drop_ingress`].
    pub(crate) async fn add(&self, device: &InterfaceName) -> Result<(), IngressDropError> {
        let committed = self.0.commit(addition(device)).await;
        committed.map_err(|source| error(format!("drop what arrives at {device}"), source))
    }

    /// As [`stop_dropping_ingress`].
    pub(crate) async fn remove(&self, device: &InterfaceName) -> Result<Outcome, IngressDropError> {
        self.delete(NftMessage::DeleteChain, &chain_attributes(device))
            .await
            .map_err(|source| error(format!("stop dropping what arrives at {device}"), source))
    }

    /// As [`stop_dropping_all_ingress`].
    async fn remove_all(&self) -> Result<Outcome, IngressDropError> {
        let table = Attributes::default().text(NFTA_TABLE_NAME, TABLE);
        self.delete(NftMessage::DeleteTable, &table)
            .await
            .map_err(|source| error(format!("delete the nf_tables table {TABLE}"), source))
    }

    /// As [`ingress_drops`].
    pub(crate) async fn list(&self) -> Result<Vec<InterfaceName>, IngressDropError> {
        let read = |attributes: &[u8]| {
            let ours = text_attribute(attributes, NFTA_CHAIN_TABLE)? == TABLE;
            let name = text_attribute(attributes, NFTA_CHAIN_NAME).filter(|_| ours)?;
            name.strip_prefix(CHAIN_PREFIX)?.parse().ok()
        };
        let chains = self.0.dump(NftFamily::Netdev, NftMessage::GetChain, &Attributes::default(), read).await;
        let mut devices: Vec<InterfaceName> =
            chains.map_err(|source| error("list chains of nf_tables".to_owned(), source))?;
        devices.sort();
        Ok(devices)
    }

    /// What is not there needs no deletion.
    async fn delete(&self, message: NftMessage, what: &Attributes) -> io::Result<Outcome> {
        match self.0.commit(Batch::new(NftFamily::Netdev).change(message, 0, what)).await {
            Ok(()) => Ok(Outcome::Changed),
            Err(source) if source.raw_os_error() == Some(Errno::ENOENT as i32) => Ok(Outcome::Unchanged),
            Err(source) => Err(source),
        }
    }
}

/// Drops all that arrives at a device, before the Node's own stack. Repeating it changes nothing.
///
/// # Errors
/// There is no such device, or the kernel refuses.
pub async fn drop_ingress(device: &InterfaceName) -> Result<(), IngressDropError> {
    IngressDrops::current()?.add(device).await
}

fn addition(device: &InterfaceName) -> Batch {
    let hook = Attributes::default()
        .number(NFTA_HOOK_HOOKNUM, NF_NETDEV_INGRESS)
        .number(NFTA_HOOK_PRIORITY, 0)
        .text(NFTA_HOOK_DEV, device.as_str());
    let chain = chain_attributes(device)
        .nested(NFTA_CHAIN_HOOK, &hook)
        .number(NFTA_CHAIN_POLICY, NF_DROP)
        .text(NFTA_CHAIN_TYPE, "filter");
    let table = Attributes::default().text(NFTA_TABLE_NAME, TABLE);
    Batch::new(NftFamily::Netdev).change(NftMessage::NewTable, NLM_F_CREATE, &table).change(
        NftMessage::NewChain,
        NLM_F_CREATE,
        &chain,
    )
}

/// Lets the Node's stack have what arrives at a device again. The device need not exist any more.
///
/// # Errors
/// The kernel refuses.
pub async fn stop_dropping_ingress(device: &InterfaceName) -> Result<Outcome, IngressDropError> {
    IngressDrops::current()?.remove(device).await
}

/// The same for all devices; nothing of this module is left in the kernel.
///
/// # Errors
/// The kernel refuses.
pub async fn stop_dropping_all_ingress() -> Result<Outcome, IngressDropError> {
    IngressDrops::current()?.remove_all().await
}

/// The devices that have a chain of ours, sorted; some may not exist any more.
///
/// # Errors
/// The kernel cannot be asked.
pub async fn ingress_drops() -> Result<Vec<InterfaceName>, IngressDropError> {
    IngressDrops::current()?.list().await
}

fn error(operation: String, source: io::Error) -> IngressDropError {
    IngressDropError { operation, source }
}

fn chain_attributes(device: &InterfaceName) -> Attributes {
    Attributes::default()
        .text(NFTA_CHAIN_TABLE, TABLE)
        .text(NFTA_CHAIN_NAME, &format!("{CHAIN_PREFIX}{device}"))
}

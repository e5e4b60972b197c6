//! The chains of Antrea at hooks of devices: those of table `netdev antrea`, each at one hook of one device.

use std::io;

use antrea_types::InterfaceName;
use netlink_packet_core::NLM_F_CREATE;
use nix::errno::Errno;

use crate::Outcome;
use crate::nfnetlink::{Attributes, Batch, NftFamily, NftMessage, Nftables};

/// The table. No other has chains of Antrea in this family.
pub(crate) const TABLE: &str = "antrea";

// Attributes of linux/netfilter/nf_tables.h.
const NFTA_TABLE_NAME: u16 = 1;
pub(crate) const NFTA_CHAIN_TABLE: u16 = 1;
pub(crate) const NFTA_CHAIN_NAME: u16 = 3;
pub(crate) const NFTA_CHAIN_HOOK: u16 = 4;
const NFTA_CHAIN_POLICY: u16 = 5;
const NFTA_CHAIN_TYPE: u16 = 7;
pub(crate) const NFTA_HOOK_HOOKNUM: u16 = 1;
const NFTA_HOOK_PRIORITY: u16 = 2;
const NFTA_HOOK_DEV: u16 = 3;

/// A chain of a device cannot be set, removed or listed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation}; the kernel needs nf_tables with {needs}")]
pub struct DeviceChainError {
    operation: String,
    needs: &'static str,
    #[source]
    source: io::Error,
}

/// A hook of a device (enum nf_dev_hooks).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceHook {
    /// For what arrives.
    Ingress = 0,
    /// For what is sent.
    Egress = 1,
}

/// What becomes of packets that no rule of a chain decides on (linux/netfilter.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChainPolicy {
    Drop = 0,
    Accept = 1,
}

impl DeviceHook {
    /// How the names of its chains begin; the device follows.
    pub(crate) const fn chain_prefix(self) -> &'static str {
        match self {
            Self::Ingress => "ingress-",
            Self::Egress => "egress-",
        }
    }

    /// The name of the chain of a device.
    pub(crate) fn chain_name(self, device: &InterfaceName) -> String {
        format!("{}{device}", self.chain_prefix())
    }

    /// The chain of a device, with all that makes it what it is.
    pub(crate) fn chain(self, device: &InterfaceName, policy: ChainPolicy) -> Attributes {
        let hook = Attributes::default()
            .number(NFTA_HOOK_HOOKNUM, self as u32)
            .number(NFTA_HOOK_PRIORITY, 0)
            .text(NFTA_HOOK_DEV, device.as_str());
        named(&self.chain_name(device))
            .nested(NFTA_CHAIN_HOOK, &hook)
            .number(NFTA_CHAIN_POLICY, policy as u32)
            .text(NFTA_CHAIN_TYPE, "filter")
    }

    /// Why it does not work.
    pub(crate) fn error(self, operation: String, source: io::Error) -> DeviceChainError {
        let needs = match self {
            Self::Ingress => "the netdev family",
            Self::Egress => "the netdev family and its egress hook, which Linux has since 5.16",
        };
        DeviceChainError { operation, needs, source }
    }
}

/// A chain by its name.
pub(crate) fn named(chain: &str) -> Attributes {
    Attributes::default().text(NFTA_CHAIN_TABLE, TABLE).text(NFTA_CHAIN_NAME, chain)
}

/// What makes the table and a chain in it, where they are not there yet.
pub(crate) fn create(batch: Batch, chain: &Attributes) -> Batch {
    let table = Attributes::default().text(NFTA_TABLE_NAME, TABLE);
    batch.change(NftMessage::NewTable, NLM_F_CREATE, &table).change(NftMessage::NewChain, NLM_F_CREATE, chain)
}

/// Deletes a table or chain. What is not there needs no deletion.
pub(crate) async fn delete(
    nftables: &Nftables,
    message: NftMessage,
    what: &Attributes,
) -> io::Result<Outcome> {
    match nftables.commit(Batch::new(NftFamily::Netdev).change(message, 0, what)).await {
        Ok(()) => Ok(Outcome::Changed),
        Err(source) if source.raw_os_error() == Some(Errno::ENOENT as i32) => Ok(Outcome::Unchanged),
        Err(source) => Err(source),
    }
}

/// Deletes all chains, for all devices: nothing of Antrea is left at their hooks.
///
/// # Errors
/// The kernel refuses.
pub async fn remove_device_chains() -> Result<Outcome, DeviceChainError> {
    let table = Attributes::default().text(NFTA_TABLE_NAME, TABLE);
    let deleted = async { delete(&Nftables::current()?, NftMessage::DeleteTable, &table).await };
    let error = |source| DeviceHook::Ingress.error(format!("delete the nf_tables table {TABLE}"), source);
    deleted.await.map_err(error)
}

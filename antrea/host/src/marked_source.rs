//! Has a device put a source MAC on packets that have a mark, for a bridge that cannot see the mark.
//!
//! A chain with one rule at the egress hook of the device does so: [`MarkedSource`] prints it. Where anything at egress
//! hooks in the table differs from that, one batch of changes makes it so: the chain is never there without its rule.

use std::io;

use antrea_hostplan::MarkedSource;
use netlink_packet_core::{NLM_F_APPEND, NLM_F_CREATE};
use nix::errno::Errno;

use crate::device_chain::{
    ChainPolicy, DeviceChainError, DeviceHook, NFTA_CHAIN_HOOK, NFTA_CHAIN_NAME, NFTA_CHAIN_TABLE,
    NFTA_HOOK_HOOKNUM, TABLE, create, named,
};
use crate::marked_source_rule::{NFTA_RULE_EXPRESSIONS, expressions, hold, listed, rule_of};
use crate::nfnetlink::{Attributes, Batch, NftFamily, NftMessage, Nftables, attribute, text_attribute};
use crate::{Netlink, Outcome};

const HOOK: DeviceHook = DeviceHook::Egress;

/// A chain at the egress hook of some device, or one that is called so.
struct EgressChain {
    name: String,
    /// What the kernel says of it.
    attributes: Vec<u8>,
}

impl Netlink {
    /// Whether a device puts a source MAC on packets as wanted, and no other does.
    ///
    /// # Errors
    /// The kernel cannot be asked.
    pub async fn has_marked_source(&self, wanted: &MarkedSource) -> Result<bool, DeviceChainError> {
        let found = async {
            let nftables = self.nftables().await?;
            let chains = egress_chains(&nftables).await?;
            let is_wanted = chains.iter().all(|chain| chain.is(wanted)) && !chains.is_empty();
            Ok(is_wanted && has_only_rule(&nftables, wanted).await?)
        };
        found
            .await
            .map_err(|source| HOOK.error(format!("list what changes packets of {}", wanted.device), source))
    }

    /// Has a device put a source MAC on packets as wanted, and no other. Repeating it changes nothing.
    ///
    /// # Errors
    /// There is no such device, or the kernel refuses.
    pub async fn ensure_marked_source(&self, wanted: &MarkedSource) -> Result<Outcome, DeviceChainError> {
        if self.has_marked_source(wanted).await? {
            return Ok(Outcome::Unchanged);
        }
        let set = async {
            let nftables = self.nftables().await?;
            let chains = egress_chains(&nftables).await?;
            nftables.commit(replacement(chains.iter().filter(|chain| !chain.is(wanted)), wanted)).await
        };
        let error = |source| {
            let MarkedSource { device, mac, .. } = wanted;
            HOOK.error(format!("have {device} send marked packets from {mac}"), source)
        };
        set.await.map(|()| Outcome::Changed).map_err(error)
    }

    /// Leaves what all devices send as it is. A kernel without nf_tables does so by itself.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn remove_marked_sources(&self) -> Result<Outcome, DeviceChainError> {
        let removed = async {
            let nftables = self.nftables().await?;
            let chains = egress_chains(&nftables).await?;
            if chains.is_empty() {
                return Ok(Outcome::Unchanged);
            }
            nftables.commit(removal(chains.iter())).await.map(|()| Outcome::Changed)
        };
        match removed.await {
            Err(error) if is_without_nftables(&error) => Ok(Outcome::Unchanged),
            other => other.map_err(|source| HOOK.error("leave packets as they are".to_owned(), source)),
        }
    }
}

impl EgressChain {
    fn read(attributes: &[u8]) -> Option<Self> {
        let at_egress = Attributes::default()
            .nested(NFTA_CHAIN_HOOK, &Attributes::default().number(NFTA_HOOK_HOOKNUM, HOOK as u32));
        let name = text_attribute(attributes, NFTA_CHAIN_NAME)?;
        let ours = text_attribute(attributes, NFTA_CHAIN_TABLE)? == TABLE
            && (at_egress.are_in(attributes) || name.starts_with(HOOK.chain_prefix()));
        ours.then(|| Self { name, attributes: attributes.to_vec() })
    }

    fn is(&self, wanted: &MarkedSource) -> bool {
        HOOK.chain(&wanted.device, ChainPolicy::Accept).are_in(&self.attributes)
    }
}

async fn egress_chains(nftables: &Nftables) -> io::Result<Vec<EgressChain>> {
    nftables.dump(NftFamily::Netdev, NftMessage::GetChain, &Attributes::default(), EgressChain::read).await
}

async fn has_only_rule(nftables: &Nftables, wanted: &MarkedSource) -> io::Result<bool> {
    let wanted_expressions = expressions(wanted);
    let is_wanted =
        |rule: &[u8]| attribute(rule, NFTA_RULE_EXPRESSIONS).map(|found| hold(found, &wanted_expressions));
    let chain = rule_of(&HOOK.chain_name(&wanted.device));
    let rules = nftables.dump(NftFamily::Netdev, NftMessage::GetRule, &chain, is_wanted).await?;
    Ok(rules == [true])
}

fn removal<'a>(chains: impl Iterator<Item = &'a EgressChain>) -> Batch {
    chains.fold(Batch::new(NftFamily::Netdev), |batch, chain| {
        batch.change(NftMessage::DeleteChain, 0, &named(&chain.name))
    })
}

/// Chains that are in the way go, with their rules; whatever rules the chain has make room for the one.
fn replacement<'a>(in_the_way: impl Iterator<Item = &'a EgressChain>, wanted: &MarkedSource) -> Batch {
    let rule = rule_of(&HOOK.chain_name(&wanted.device));
    let with_expressions = rule.clone().nested(NFTA_RULE_EXPRESSIONS, &listed(&expressions(wanted)));
    create(removal(in_the_way), &HOOK.chain(&wanted.device, ChainPolicy::Accept))
        .change(NftMessage::DeleteRule, 0, &rule)
        .change(NftMessage::NewRule, NLM_F_CREATE | NLM_F_APPEND, &with_expressions)
}

/// Whether the answer is that of a kernel without nf_tables: it does not know the protocol, or that part of it.
fn is_without_nftables(error: &io::Error) -> bool {
    let number = error.raw_os_error().map(Errno::from_raw);
    matches!(number, Some(Errno::EPROTONOSUPPORT | Errno::EINVAL))
}

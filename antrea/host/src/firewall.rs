//! Applies sysctls, IP sets and iptables rules of a [`HostPlan`] in the namespace of the calling thread, with as few
//! processes as it takes.
//!
//! | occasion | processes |
//! |---|---|
//! | first start of a Node | `ipset restore`, `iptables-restore`, `ip6tables-restore` |
//! | another start, nothing changed | `ipset restore`, `iptables-save`, `ip6tables-save` |
//! | periodic sync, nothing changed | `ipset save`, `iptables-save`, `ip6tables-save` |
//! | entries of IP sets changed | `ipset restore` with the changes |
//!
//! Those of a family that Pods do not have are run as well, since strangers may reach the tunnel over it, but not where the
//! kernel does not have it. At the first start `-save` is run, too, where the tables of the older iptables are loaded.

use std::path::Path;

use antrea_hostplan::iptables::{Ruleset, SavedRuleset, restore_text};
use antrea_hostplan::{HostPlan, IpSet, ip_set_changes, ip_set_updates, parse_ip_set_save, replace_ip_sets};
use antrea_types::IpFamily;

use crate::command::{self, CommandError};
use crate::firewall_presence::{Presence, presence};
use crate::{Outcome, SysctlError, blocking, ensure_sysctls};

/// How the names of all our sets begin.
const IP_SET_PREFIX: &str = "ANTREA-";

/// How long `iptables-restore` waits for another that holds the lock.
const LOCK_SECONDS: &str = "10";

/// Part of a host plan cannot be applied.
#[derive(Debug, thiserror::Error)]
pub enum FirewallError {
    /// A kernel parameter.
    #[error("cannot set the kernel parameters of the Node")]
    Sysctl(#[from] SysctlError),
    /// The IP sets.
    #[error("cannot set the IP sets of the Node")]
    IpSets(#[source] CommandError),
    /// The rules of a family.
    #[error("cannot set the {family} iptables rules of the Node")]
    Rules {
        /// The family.
        family: IpFamily,
        /// Why.
        #[source]
        source: CommandError,
    },
}

impl FirewallError {
    /// Whether the Node was only too busy: another program held the lock of iptables, or a program took too long.
    pub fn is_busy(&self) -> bool {
        match self {
            Self::Sysctl(_) => false,
            Self::IpSets(source) | Self::Rules { source, .. } => source.is_busy(),
        }
    }
}

/// Applies a plan when the agent starts, all but what [`sync_unused_families`] does: IP sets without looking, rules compared
/// with what is there where anything can be there.
///
/// # Errors
/// The first part that fails; parts before it are applied.
pub async fn apply_at_start(plan: &HostPlan) -> Result<(), FirewallError> {
    blocking(|| ensure_sysctls(&plan.sysctls))?;
    set_ip_sets(&plan.ip_sets).await?;
    for (family, ruleset) in families(plan) {
        restore_rules(family, ruleset, &save_rules_if_any(family).await?).await?;
    }
    Ok(())
}

/// Repairs the rules of families that are not used: [`HostPlan::tunnel_drops`] are there, and nothing of a former plan is. Apart
/// from the rest, since nothing depends on it: a Node of IPv4 works without `ip6tables`.
///
/// # Errors
/// The first family that fails.
pub async fn sync_unused_families(plan: &HostPlan) -> Result<Outcome, FirewallError> {
    let unused = IpFamily::ALL.into_iter().filter(|family| plan.rulesets.get(*family).is_none());
    let mut outcome = Outcome::Unchanged;
    for family in unused.filter(|family| kernel_has(*family)) {
        let nothing = Ruleset::default();
        let ruleset = plan.tunnel_drops.get(family).unwrap_or(&nothing);
        if restore_rules(family, ruleset, &save_rules_if_any(family).await?).await? == Outcome::Changed {
            outcome = Outcome::Changed;
        }
    }
    Ok(outcome)
}

/// Compares all else that a plan holds with what is there, and repairs what differs.
///
/// # Errors
/// The first part that fails; parts before it are applied.
pub async fn sync(plan: &HostPlan) -> Result<Outcome, FirewallError> {
    let mut outcome = Outcome::Unchanged;
    if !blocking(|| ensure_sysctls(&plan.sysctls))?.is_empty() {
        outcome = Outcome::Changed;
    }
    let saved = command::run(&["ipset", "save"], "").await.map_err(FirewallError::IpSets)?;
    let there = parse_ip_set_save(&saved);
    if let Some(changes) = ip_set_changes(&plan.ip_sets, &there) {
        restore_ip_sets(&changes).await?;
        outcome = Outcome::Changed;
    }
    for (family, ruleset) in families(plan) {
        let saved = save_rules(family).await?;
        if restore_rules(family, ruleset, &saved).await? == Outcome::Changed {
            outcome = Outcome::Changed;
        }
    }
    let unwanted = plan.unwanted_ip_sets.iter().copied().filter(|name| there.contains_key(*name));
    if destroy_ip_sets(unwanted).await? == Outcome::Changed {
        outcome = Outcome::Changed;
    }
    Ok(outcome)
}

/// Takes the Node from a plan that was applied to another one. Where nothing but entries of IP sets differs, only these
/// are changed, which takes as long as there are changes; otherwise all is compared, as by [`sync`]. Families that are not used
/// are left as they are.
///
/// # Errors
/// As [`sync`].
pub async fn update(applied: &HostPlan, plan: &HostPlan) -> Result<Outcome, FirewallError> {
    let same_rules = applied.rulesets == plan.rulesets && applied.sysctls == plan.sysctls;
    if !same_rules || applied.unwanted_ip_sets != plan.unwanted_ip_sets {
        return sync(plan).await;
    }
    match ip_set_updates(&applied.ip_sets, &plan.ip_sets) {
        Some(changes) => restore_ip_sets(&changes).await.map(|()| Outcome::Changed),
        None => Ok(Outcome::Unchanged),
    }
}

/// Gives each set exactly its entries, with one process and without a moment in which a running set lacks entries.
///
/// # Errors
/// `ipset` fails: a set of the same name is of another kind, for example.
pub async fn set_ip_sets(sets: &[IpSet]) -> Result<(), FirewallError> {
    restore_ip_sets(&replace_ip_sets(sets)).await
}

/// Removes the rules of both families, then all sets of ours, to which they may refer. Kernel parameters stay.
///
/// # Errors
/// The first part that fails.
pub async fn remove() -> Result<(), FirewallError> {
    for family in IpFamily::ALL {
        restore_rules(family, &Ruleset::default(), &save_rules_if_any(family).await?).await?;
    }
    let saved = command::run(&["ipset", "save"], "").await.map_err(FirewallError::IpSets)?;
    let there = parse_ip_set_save(&saved);
    let ours = there.keys().map(String::as_str).filter(|name| name.starts_with(IP_SET_PREFIX));
    destroy_ip_sets(ours).await.map(drop)
}

async fn destroy_ip_sets(names: impl Iterator<Item = &str>) -> Result<Outcome, FirewallError> {
    let text: String = names.map(|name| format!("destroy {name}\n")).collect();
    if text.is_empty() {
        return Ok(Outcome::Unchanged);
    }
    restore_ip_sets(&text).await.map(|()| Outcome::Changed)
}

fn families(plan: &HostPlan) -> impl Iterator<Item = (IpFamily, &Ruleset)> {
    plan.rulesets.families().filter_map(|family| plan.rulesets.get(family).map(|ruleset| (family, ruleset)))
}

/// A kernel without IPv6 (`ipv6.disable=1`) receives nothing by it.
fn kernel_has(family: IpFamily) -> bool {
    match family {
        IpFamily::V4 => true,
        IpFamily::V6 => Path::new("/proc/thread-self/net/if_inet6").exists(),
    }
}

async fn restore_ip_sets(text: &str) -> Result<(), FirewallError> {
    command::run(&["ipset", "restore", "-exist"], text).await.map(drop).map_err(FirewallError::IpSets)
}

/// Runs no process where there is certainly no rule of ours.
async fn save_rules_if_any(family: IpFamily) -> Result<SavedRuleset, FirewallError> {
    match presence(family).await {
        Presence::Absent => Ok(SavedRuleset::default()),
        Presence::Possible => save_rules(family).await,
    }
}

async fn save_rules(family: IpFamily) -> Result<SavedRuleset, FirewallError> {
    let program = match family {
        IpFamily::V4 => "iptables-save",
        IpFamily::V6 => "ip6tables-save",
    };
    let text = command::run(&[program], "").await;
    text.map(|text| SavedRuleset::parse(&text)).map_err(|source| FirewallError::Rules { family, source })
}

async fn restore_rules(
    family: IpFamily,
    desired: &Ruleset,
    saved: &SavedRuleset,
) -> Result<Outcome, FirewallError> {
    let Some(text) = restore_text(desired, saved) else { return Ok(Outcome::Unchanged) };
    run_restore(family, &text).await?;
    Ok(Outcome::Changed)
}

async fn run_restore(family: IpFamily, text: &str) -> Result<(), FirewallError> {
    let program = match family {
        IpFamily::V4 => "iptables-restore",
        IpFamily::V6 => "ip6tables-restore",
    };
    let restored = command::run(&[program, "--noflush", "--wait", LOCK_SECONDS], text).await;
    restored.map(drop).map_err(|source| FirewallError::Rules { family, source })
}

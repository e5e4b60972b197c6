//! Whether the API server knows the kinds that the controller works with. Without those of Multi-cluster itself the
//! controller is not ready; without those of core Antrea a member imports no policies, and says so.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use antrea_kit::backoff::{Backoff, jitter};
use antrea_kit::health::{Check, Checks, Kind as CheckKind};
use antrea_kit::kube_client::{bounded, status_code};
use antrea_kit::logging::chain;
use antrea_shared_api::crd::v1beta1::Tier;
use antrea_shared_api::mcs::v1beta1::{ServiceExport, ServiceImport};
use antrea_shared_api::multicluster::v1alpha1::{
    ClusterInfoImport, Gateway, LabelIdentity, MemberClusterAnnounce, ResourceExport, ResourceImport,
};
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use anyhow::{Context, Result};
use kube::{Client, Resource};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::cli::Mode;

/// How often kinds are looked for that were there.
const PERIOD: Duration = Duration::from_secs(60);

/// Who installs a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Product {
    Multicluster,
    Core,
}

/// A kind: who installs it, group and version, and its plural.
type Kind = (Product, String, String);

fn kind<K: Resource<DynamicType = ()>>(product: Product) -> Kind {
    (product, K::api_version(&()).into_owned(), K::plural(&()).into_owned())
}

/// The kinds that a mode works with.
fn wanted(mode: Mode) -> BTreeSet<Kind> {
    let own = Product::Multicluster;
    let mut kinds = BTreeSet::from([kind::<ClusterSet>(own)]);
    if mode.leads() {
        kinds.extend([
            kind::<MemberClusterAnnounce>(own),
            kind::<ResourceExport>(own),
            kind::<ResourceImport>(own),
        ]);
    }
    if mode.is_member() {
        kinds.extend([
            kind::<ClusterInfoImport>(own),
            kind::<Gateway>(own),
            kind::<LabelIdentity>(own),
            kind::<ServiceExport>(own),
            kind::<ServiceImport>(own),
            kind::<Tier>(Product::Core),
            // The type of ClusterNetworkPolicy is the member crate's own.
            (Product::Core, "crd.antrea.io/v1beta1".to_owned(), "clusternetworkpolicies".to_owned()),
        ]);
    }
    kinds
}

/// The kinds that are looked for, and the check that tells of them.
pub(crate) struct Kinds {
    wanted: BTreeSet<Kind>,
    check: Check,
}

impl Kinds {
    /// Those of a mode.
    pub(crate) fn new(mode: Mode, checks: &Checks) -> Self {
        Self { wanted: wanted(mode), check: checks.add("custom-resource-definitions", CheckKind::Readiness) }
    }

    fn missing(&self, served: &BTreeSet<(String, String)>) -> Missing {
        let is_missing = |(_, group, plural): &&Kind| !served.contains(&(group.clone(), plural.clone()));
        Missing(self.wanted.iter().filter(is_missing).cloned().collect())
    }

    fn tell(&self, missing: &Missing) {
        let own = missing.of(Product::Multicluster);
        if own.0.is_empty() {
            self.check.pass();
        } else {
            self.check.fail(own.to_string());
        }
    }
}

/// Kinds that the API server does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Missing(BTreeSet<Kind>);

impl Missing {
    fn of(&self, product: Product) -> Self {
        Self(self.0.iter().filter(|(of, ..)| *of == product).cloned().collect())
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (product, installs) in
            [(Product::Multicluster, "chart antrea-mc"), (Product::Core, "core Antrea, chart antrea")]
        {
            let names = self.of(product).0;
            let names: Vec<String> = names.iter().map(|(_, group, plural)| name(group, plural)).collect();
            if !names.is_empty() {
                write!(
                    f,
                    "{separator}the API server does not know {}: install {installs}",
                    names.join(", ")
                )?;
                separator = "; ";
            }
        }
        Ok(())
    }
}

/// As `clustersets.multicluster.crd.antrea.io/v1alpha2`.
fn name(group: &str, plural: &str) -> String {
    format!("{plural}.{group}")
}

/// Looks for the kinds until `stop`: often while some are missing, now and then afterwards.
///
/// # Errors
/// Never: an API server that is away is asked again.
pub(crate) async fn run(client: Client, kinds: Kinds, stop: CancellationToken) -> Result<()> {
    let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(10));
    let mut said = Missing::default();
    while let Some(answer) = stop.run_until_cancelled(served(&client, &kinds.wanted)).await {
        match answer {
            Ok(served) => {
                let missing = kinds.missing(&served);
                kinds.tell(&missing);
                if missing != said {
                    report(&missing);
                }
                if missing.0.is_empty() {
                    backoff.reset();
                }
                said = missing;
            }
            Err(error) if backoff.is_fresh() => {
                warn!(error = %chain(error.as_ref()), "API server does not say which kinds it knows");
                backoff.wait(jitter());
            }
            Err(_) => {}
        }
        let pause = if backoff.is_fresh() && said.0.is_empty() { PERIOD } else { backoff.wait(jitter()) };
        if stop.run_until_cancelled(sleep(pause)).await.is_none() {
            break;
        }
    }
    Ok(())
}

fn report(missing: &Missing) {
    if missing.0.is_empty() {
        info!("API server knows all kinds now");
    } else {
        warn!(%missing, "Waiting for CustomResourceDefinitions");
    }
}

/// What the API server knows of the groups of the kinds.
async fn served(client: &Client, wanted: &BTreeSet<Kind>) -> Result<BTreeSet<(String, String)>> {
    let groups: BTreeSet<&String> = wanted.iter().map(|(_, group, _)| group).collect();
    let mut served = BTreeSet::new();
    for group in groups {
        match bounded(client.list_api_group_resources(group)).await {
            Ok(list) => served.extend(list.resources.into_iter().map(|known| (group.clone(), known.name))),
            Err(error) if status_code(&error) == Some(404) => {}
            Err(error) => return Err(error).with_context(|| format!("cannot read the kinds of {group}")),
        }
    }
    Ok(served)
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    /// What a controller says where the API server knows nothing but the kinds of `served`; whether it is ready.
    fn check(mode: Mode, served: &[Mode], without: &str) -> (String, bool) {
        let checks = Checks::new();
        let kinds = Kinds::new(mode, &checks);
        let known = served.iter().flat_map(|mode| wanted(*mode));
        let known = known.map(|(_, group, plural)| (group, plural)).filter(|(_, plural)| plural != without);
        let missing = kinds.missing(&known.collect());
        kinds.tell(&missing);
        let answer = checks
            .answer(&Request::get("/readyz").body(()).unwrap())
            .map(|answer| answer.status().is_success());
        (missing.to_string(), answer.unwrap())
    }

    #[test]
    fn each_mode_needs_its_own_kinds() {
        let all = (String::new(), true);
        for mode in [Mode::Leader, Mode::Member, Mode::Both] {
            assert_eq!(check(mode, &[mode], ""), all, "{mode}");
        }
        assert_eq!(check(Mode::Both, &[Mode::Leader, Mode::Member], ""), all);
    }

    #[test]
    fn a_controller_without_its_own_kinds_is_not_ready_and_says_what_to_install() {
        let (missing, ready) = check(Mode::Member, &[Mode::Member], "gateways");
        assert_eq!(
            missing,
            "the API server does not know gateways.multicluster.crd.antrea.io/v1alpha1: install chart antrea-mc"
        );
        assert!(!ready);
    }

    #[test]
    fn a_member_without_core_antrea_waits_for_it_and_is_ready() {
        let (missing, ready) = check(Mode::Member, &[Mode::Member], "tiers");
        assert_eq!(
            missing,
            "the API server does not know tiers.crd.antrea.io/v1beta1: install core Antrea, chart antrea"
        );
        assert!(ready);
    }

    #[test]
    fn a_leader_needs_no_core_antrea() {
        assert!(wanted(Mode::Leader).iter().all(|(product, ..)| *product == Product::Multicluster));
    }
}

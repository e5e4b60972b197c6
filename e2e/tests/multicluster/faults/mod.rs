//! Faults under traffic: what is exported and imported stays, whoever is away or dies, and is current again soon after.

mod killed;
mod leader_away;
mod partition;
mod tokens;

use std::collections::BTreeMap;
use std::time::Duration;

use antrea_e2e::wait;
use anyhow::{Result, ensure};

use super::stage::{PATIENCE, Stage};

/// What members make of what others tell.
const OF_MEMBERS: &str = "services,endpointslices,serviceimports.multicluster.x-k8s.io,clusterinfoimports,\
                          gateways.multicluster.crd.antrea.io";
/// What they tell, and what the leader makes of that.
const OF_THE_LEADER: &str = "memberclusterannounces,resourceexports,resourceimports";

/// A member withdraws an import, or a leader an export, within this time.
const WITHDRAWAL: Duration = Duration::from_secs(3);

/// The objects that all clusters have because of others, and their UIDs: who is deleted and made anew has another.
pub(super) struct Held(BTreeMap<String, String>);

impl Held {
    /// What all clusters hold once nothing of a test before is withdrawn any more.
    pub(super) fn by_all(stage: &Stage) -> Result<Self> {
        wait::eventually(PATIENCE, "what clusters hold to stay the same for a while", || {
            let before = Self::now(stage)?;
            wait::pause(WITHDRAWAL);
            Ok(Some(Self::now(stage)?).filter(|held| held.0 == before.0))
        })
    }

    fn now(stage: &Stage) -> Result<Self> {
        let mut held = BTreeMap::new();
        let of_members = stage.members().iter().map(|member| (member, OF_MEMBERS));
        for (member, kinds) in of_members.chain([(stage.a()?, OF_THE_LEADER)]) {
            let objects = member.kubectl.json(&["get", "-A", kinds])?;
            for object in objects["items"].as_array().into_iter().flatten() {
                let [kind, namespace, name, uid] =
                    ["/kind", "/metadata/namespace", "/metadata/name", "/metadata/uid"].map(|field| {
                        object.pointer(field).and_then(|value| value.as_str()).unwrap_or_default()
                    });
                let is_derived =
                    !matches!(kind, "Service" | "EndpointSlice") || name.starts_with("antrea-mc-");
                if is_derived {
                    held.insert(format!("{} {kind} {namespace}/{name}", member.id()), uid.to_owned());
                }
            }
        }
        ensure!(held.len() > 20, "there is little to hold: {held:?}");
        Ok(Self(held))
    }

    /// The same without a set of labels, which may go: its Pods are replaced by others.
    pub(super) fn without_labels(mut self, hash: &str) -> Self {
        self.0.retain(|object, _| !object.ends_with(hash));
        self
    }

    /// All that was there is there, and was all the time. There may be more.
    pub(super) fn ensure_it_stayed(&self, stage: &Stage) -> Result<()> {
        let now = Self::now(stage)?.0;
        let gone: Vec<_> = self.0.iter().filter(|(object, uid)| now.get(*object) != Some(uid)).collect();
        ensure!(gone.is_empty(), "deleted, or made anew, are {gone:?}");
        Ok(())
    }
}

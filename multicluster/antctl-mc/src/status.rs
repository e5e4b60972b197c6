//! `status`: how the ClusterSets of a cluster are, and who is connected.

use std::io::Write;
use std::process::ExitCode;

use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use antrea_shared_api::multicluster::{Condition, ConditionStatus, condition_type};
use anyhow::Result;
use kube::ResourceExt;

use crate::cli::Status;
use crate::cluster::Cluster;
use crate::objects::cluster_set::{Role, role};
use crate::wait;

/// How a ClusterSet is, as its controller sees it.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    name: String,
    namespace: String,
    role: Role,
    cluster_id: String,
    /// Of the whole, then of each cluster.
    conditions: Vec<(Option<String>, Condition)>,
}

impl Standing {
    pub(crate) fn of(set: &ClusterSet) -> Self {
        let status = set.status.clone().unwrap_or_default();
        let whole = status.conditions.into_iter().map(|condition| (None, condition));
        let clusters = status.cluster_statuses.into_iter().flat_map(|cluster| {
            let of = move |condition| (Some(cluster.cluster_id.clone()), condition);
            cluster.conditions.into_iter().map(of)
        });
        Self {
            name: set.name_any(),
            namespace: set.namespace().unwrap_or_default(),
            role: role(set),
            cluster_id: set.spec.cluster_id.clone(),
            conditions: whole.chain(clusters).collect(),
        }
    }

    fn ready(&self) -> Option<&Condition> {
        let mut whole = self.conditions.iter().filter(|(cluster, _)| cluster.is_none());
        whole.find(|(_, condition)| condition.condition_type == condition_type::READY).map(|(_, ready)| ready)
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.ready().is_some_and(|ready| ready.status == ConditionStatus::True)
    }

    /// What the controller says of it, in a few words.
    pub(crate) fn why(&self) -> String {
        match self.ready() {
            None => "its status is empty: is the Multi-cluster controller running?".to_owned(),
            Some(ready) => describe(ready),
        }
    }

    fn text(&self) -> String {
        let Self { name, namespace, cluster_id, .. } = self;
        let role = match self.role {
            Role::Leader => "leader",
            Role::Member => "member",
        };
        let why = self.why();
        let mut text = format!("ClusterSet {name} in Namespace {namespace}, {role} {cluster_id}: {why}\n");
        for (cluster, condition) in &self.conditions {
            match cluster {
                Some(cluster) => text.push_str(&format!("  {cluster}: {}\n", describe(condition))),
                None if condition.condition_type == condition_type::READY => {}
                None => text.push_str(&format!("  {}\n", describe(condition))),
            }
        }
        text
    }
}

fn describe(condition: &Condition) -> String {
    let Condition { condition_type, status, reason, message, .. } = condition;
    let words: Vec<&str> =
        [reason, message].into_iter().filter(|word| !word.is_empty()).map(|word| word.as_str()).collect();
    match words.as_slice() {
        [] => format!("{condition_type}={status}"),
        words => format!("{condition_type}={status} ({})", words.join(": ")),
    }
}

pub(crate) async fn run(cluster: &Cluster, options: &Status, out: &mut dyn Write) -> Result<ExitCode> {
    let namespace = options.namespace.as_deref();
    if options.wait {
        wait::until(options.timeout, async || {
            Ok(are_ready(&standings(cluster, namespace).await?).then_some(()))
        })
        .await?;
    }
    let standings = standings(cluster, namespace).await?;
    if standings.is_empty() {
        writeln!(
            out,
            "No ClusterSet found: make one with \"antctl mc init\", or join one with \"antctl mc join\""
        )?;
    }
    for standing in &standings {
        write!(out, "{}", standing.text())?;
    }
    Ok(if are_ready(&standings) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn standings(cluster: &Cluster, namespace: Option<&str>) -> Result<Vec<Standing>> {
    let sets: Vec<ClusterSet> = cluster.list(namespace).await?;
    Ok(sets.iter().map(Standing::of).collect())
}

fn are_ready(standings: &[Standing]) -> bool {
    !standings.is_empty() && standings.iter().all(Standing::is_ready)
}

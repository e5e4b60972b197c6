//! AntreaAgentInfo: created and deleted with the Nodes; what they say is the agents' affair.

use std::collections::BTreeSet;
use std::time::Duration;

use antrea_kit::backoff::{Backoff, jitter};
use antrea_kit::kube_client::{bounded, status_code};
use antrea_kit::logging::chain;
use antrea_kit::watch::{WatchEvent, watch};
use antrea_shared_api::crd::v1beta1::AntreaAgentInfo;
use antrea_shared_api::well_known::CONTROLLER_FIELD_MANAGER;
use anyhow::Result;
use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, PostParams};
use kube::runtime::watcher;
use kube::{Api, Client};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// The names of the objects of a kind; `None` before the first list.
type Names = Option<BTreeSet<String>>;

/// One request that brings the objects about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Action {
    /// The Node has no object.
    Create(String),
    /// The object has no Node.
    Delete(String),
}

/// What is missing and what is too much. Nothing before both kinds are known.
fn plan(nodes: &Names, infos: &Names) -> Vec<Action> {
    let (Some(nodes), Some(infos)) = (nodes, infos) else { return Vec::new() };
    let missing = nodes.difference(infos).cloned().map(Action::Create);
    let superfluous = infos.difference(nodes).cloned().map(Action::Delete);
    missing.chain(superfluous).collect()
}

/// Whether the object is about a Node. Those of machines outside the cluster are somebody else's.
fn is_of_node(info: &AntreaAgentInfo) -> bool {
    info.node_ref.kind.as_deref().is_none_or(|kind| kind == "Node")
}

/// Runs until `stop`.
pub(crate) async fn run(client: Client, stop: CancellationToken) -> Result<()> {
    let (node_events, nodes) = mpsc::channel(64);
    let (info_events, infos) = mpsc::channel(64);
    let api = Api::<AntreaAgentInfo>::all(client.clone());
    let node_name = |node: Node| node.metadata.name;
    let info_name = |info: AntreaAgentInfo| if is_of_node(&info) { info.metadata.name } else { None };
    let config = watcher::Config::default;
    tokio::select! {
        result = watch(Api::<Node>::all(client), config(), node_name, node_events, stop.clone()) => result,
        result = watch(api.clone(), config(), info_name, info_events, stop.clone()) => result,
        () = keep(&api, nodes, infos) => Ok(()),
    }
}

/// Brings the objects about after each change, and again after a failure.
async fn keep(
    api: &Api<AntreaAgentInfo>,
    mut node_events: mpsc::Receiver<WatchEvent<String>>,
    mut info_events: mpsc::Receiver<WatchEvent<String>>,
) {
    let (mut nodes, mut infos) = (Names::None, Names::None);
    let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
    let mut retry = None;
    loop {
        tokio::select! {
            Some(event) = node_events.recv() => learn(&mut nodes, event),
            Some(event) = info_events.recv() => learn(&mut infos, event),
            () = tokio::time::sleep(retry.unwrap_or_default()), if retry.is_some() => {}
            else => return,
        }
        retry = match carry_out(api, plan(&nodes, &infos)).await {
            Ok(()) => {
                backoff.reset();
                None
            }
            Err(error) => {
                if backoff.is_fresh() {
                    warn!(error = %chain(error.as_ref()), "AntreaAgentInfos could not be brought about");
                }
                Some(backoff.wait(jitter()))
            }
        };
    }
}

fn learn(names: &mut Names, event: WatchEvent<String>) {
    match (event, names) {
        (WatchEvent::Resynced(all), names) => *names = Some(all.into_iter().collect()),
        (WatchEvent::Applied(name), Some(names)) => {
            names.insert(name);
        }
        (WatchEvent::Deleted(name), Some(names)) => {
            names.remove(&name);
        }
        (WatchEvent::Applied(_) | WatchEvent::Deleted(_), None) => {}
    }
}

/// Does not change what is known: the watch tells what came of it.
async fn carry_out(api: &Api<AntreaAgentInfo>, actions: Vec<Action>) -> Result<()> {
    for action in actions {
        match action {
            Action::Create(node) => create(api, &node).await?,
            Action::Delete(node) => delete(api, &node).await?,
        }
    }
    Ok(())
}

async fn create(api: &Api<AntreaAgentInfo>, node: &str) -> Result<()> {
    let parameters =
        PostParams { field_manager: Some(CONTROLLER_FIELD_MANAGER.to_owned()), ..PostParams::default() };
    match bounded(api.create(&parameters, &AntreaAgentInfo::new(node))).await {
        Ok(_) => info!(node, "AntreaAgentInfo created"),
        // Created by somebody else, and on its way here.
        Err(error) if status_code(&error) == Some(409) => {}
        Err(error) => return Err(error.context(format!("cannot create AntreaAgentInfo {node}"))),
    }
    Ok(())
}

async fn delete(api: &Api<AntreaAgentInfo>, node: &str) -> Result<()> {
    match bounded(api.delete(node, &DeleteParams::default())).await {
        Ok(_) => info!(node, "AntreaAgentInfo deleted"),
        Err(error) if status_code(&error) == Some(404) => {}
        Err(error) => return Err(error.context(format!("cannot delete AntreaAgentInfo {node}"))),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ObjectReference;

    use super::*;

    /// The plan for Nodes and objects with these names, as an operator would see it.
    fn check(nodes: Option<&str>, infos: Option<&str>) -> String {
        let names = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        let line = |action| match action {
            Action::Create(name) => format!("create {name}"),
            Action::Delete(name) => format!("delete {name}"),
        };
        let actions = plan(&nodes.map(names), &infos.map(names));
        actions.into_iter().map(line).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn every_node_has_one_object() {
        assert_eq!(check(Some("n1 n2"), Some("n2 n3")), "create n1, delete n3");
        assert_eq!(check(Some("n1"), Some("n1")), "");
    }

    #[test]
    fn nothing_is_done_before_nodes_and_objects_are_known() {
        assert_eq!(check(None, Some("n1")), "");
        assert_eq!(check(Some("n1"), None), "");
    }

    #[test]
    fn events_before_the_first_list_are_not_the_whole() {
        let mut names = None;
        learn(&mut names, WatchEvent::Applied("n1".into()));
        assert_eq!(names, None);
        learn(&mut names, WatchEvent::Resynced(vec!["n2".into()]));
        learn(&mut names, WatchEvent::Applied("n1".into()));
        learn(&mut names, WatchEvent::Deleted("n2".into()));
        assert_eq!(names, Some(BTreeSet::from(["n1".to_owned()])));
    }

    #[test]
    fn objects_of_machines_outside_the_cluster_are_left_alone() {
        let mut info = AntreaAgentInfo::new("vm1");
        assert!(is_of_node(&info));
        info.node_ref = ObjectReference { kind: Some("ExternalNode".into()), ..ObjectReference::default() };
        assert!(!is_of_node(&info));
    }
}

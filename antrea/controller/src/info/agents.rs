//! AntreaAgentInfo: created and deleted with the Nodes; what they say is the agents' affair. Reports of agents are checked
//! against the same Nodes.

use std::sync::Arc;

use antrea_kit::keeper::{Keep, keep, stream};
use antrea_kit::known::Known;
use antrea_kit::kube_client::{Effect, create, delete};
use antrea_kit::watch::{WatchEvent, watch};
use antrea_shared_api::crd::v1beta1::AntreaAgentInfo;
use antrea_shared_api::well_known::CONTROLLER_FIELD_MANAGER;
use anyhow::Result;
use futures::StreamExt;
use futures::stream::select;
use k8s_openapi::api::core::v1::Node;
use kube::runtime::watcher;
use kube::{Api, Client};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::computation::Computation;

/// The names of the objects of a kind.
type Names = Known<()>;
type NameEvent = WatchEvent<(String, ())>;

/// One request that brings the objects about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Action {
    /// The Node has no object.
    Create(String),
    /// The object has no Node.
    Delete(String),
}

/// What is missing and what is too much; `None` before both kinds are known.
fn plan(nodes: &Names, infos: &Names) -> Option<Vec<Action>> {
    let (nodes, infos) = (nodes.all()?, infos.all()?);
    let missing = nodes.keys().filter(|name| !infos.contains_key(*name)).cloned().map(Action::Create);
    let superfluous = infos.keys().filter(|name| !nodes.contains_key(*name)).cloned().map(Action::Delete);
    Some(missing.chain(superfluous).collect())
}

/// Whether the object is about a Node. Those of machines outside the cluster are somebody else's.
fn is_of_node(info: &AntreaAgentInfo) -> bool {
    info.node_ref.kind.as_deref().is_none_or(|kind| kind == "Node")
}

/// Runs until `stop`.
pub(crate) async fn run(
    client: Client,
    computation: Arc<Computation>,
    stop: CancellationToken,
) -> Result<()> {
    let (node_events, nodes) = mpsc::channel(64);
    let (info_events, infos) = mpsc::channel(64);
    let api = Api::<AntreaAgentInfo>::all(client.clone());
    let named = |name: Option<String>| name.map(|name| (name, ()));
    let node_name = |node: Node| named(node.metadata.name);
    let info_name = |info: AntreaAgentInfo| named(info.metadata.name.clone().filter(|_| is_of_node(&info)));
    let events = select(stream(nodes).map(Event::Node), stream(infos).map(Event::Info));
    let keeper = Keeper { api: api.clone(), nodes: Names::default(), infos: Names::default(), computation };
    let config = watcher::Config::default;
    tokio::select! {
        result = watch(Api::<Node>::all(client), config(), node_name, node_events, stop.clone()) => result,
        result = watch(api, config(), info_name, info_events, stop) => result,
        () = keep(keeper, events) => Ok(()),
    }
}

/// What the two watches tell.
enum Event {
    Node(NameEvent),
    Info(NameEvent),
}

struct Keeper {
    api: Api<AntreaAgentInfo>,
    nodes: Names,
    infos: Names,
    computation: Arc<Computation>,
}

impl Keep for Keeper {
    type Event = Event;
    type Action = Action;
    const WHAT: &'static str = "AntreaAgentInfos";

    fn learn(&mut self, event: Event) {
        match event {
            Event::Node(event) => {
                self.computation.learn_nodes(event.clone());
                self.nodes.learn(event);
            }
            Event::Info(event) => self.infos.learn(event),
        }
    }

    fn plan(&self) -> Option<Vec<Action>> {
        plan(&self.nodes, &self.infos)
    }

    async fn carry_out(&self, action: &Action) -> Result<()> {
        match action {
            Action::Create(node) => {
                let effect = create(&self.api, &AntreaAgentInfo::new(node), CONTROLLER_FIELD_MANAGER).await?;
                if effect == Effect::Changed {
                    info!(node, "AntreaAgentInfo created");
                }
            }
            Action::Delete(node) => {
                if delete(&self.api, node).await? == Effect::Changed {
                    info!(node, "AntreaAgentInfo deleted");
                }
            }
        }
        Ok(())
    }

    fn done(&mut self, action: Action) {
        match action {
            Action::Create(node) => self.infos.insert(node, ()),
            Action::Delete(node) => self.infos.remove(&node),
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ObjectReference;

    use super::*;

    fn known(names: Option<&str>) -> Names {
        let mut known = Names::default();
        if let Some(names) = names {
            known.learn(WatchEvent::Resynced(names.split(' ').map(|name| (name.to_owned(), ())).collect()));
        }
        known
    }

    /// The plan for Nodes and objects with these names, as an operator would see it.
    fn check(nodes: Option<&str>, infos: Option<&str>) -> String {
        let line = |action| match action {
            Action::Create(name) => format!("create {name}"),
            Action::Delete(name) => format!("delete {name}"),
        };
        match plan(&known(nodes), &known(infos)) {
            Some(actions) => actions.into_iter().map(line).collect::<Vec<_>>().join(", "),
            None => "not known".to_owned(),
        }
    }

    #[test]
    fn every_node_has_one_object() {
        assert_eq!(check(Some("n1 n2"), Some("n2 n3")), "create n1, delete n3");
        assert_eq!(check(Some("n1"), Some("n1")), "");
    }

    #[test]
    fn nothing_is_done_before_nodes_and_objects_are_known() {
        assert_eq!(check(None, Some("n1")), "not known");
        assert_eq!(check(Some("n1"), None), "not known");
    }

    #[test]
    fn objects_of_machines_outside_the_cluster_are_left_alone() {
        let mut info = AntreaAgentInfo::new("vm1");
        assert!(is_of_node(&info));
        info.node_ref = ObjectReference { kind: Some("ExternalNode".into()), ..ObjectReference::default() };
        assert!(!is_of_node(&info));
    }
}

//! Bridges of the Node in [`crate::served`] where policies are enforced, one for each way of knowing what the Node itself sends.
//!
//! Pod a may send to Pod b and to Pods of node 2, TCP to port 80 and above; nobody else may get anything from it. Pod b gets
//! some of that, and sends nothing.

use std::sync::{Arc, Mutex, Weak};

use antrea_openflow::{Cookie, Flow};
use antrea_pipeline::policy::FlowChange;
use antrea_pipeline::service::ServiceProxy;
use antrea_pipeline::{NodeTraffic, Pipeline};

use crate::bridge::{Bridge, shared};
use crate::cluster::{BridgeNames, DUAL, pods, policed};
use crate::policies::rules;
use crate::served::{self, Served, everything};

pub(crate) const RULES: &str = "
    2 out a to 10.10.0.11 10.10.1.0/24 fd00:10::b on tcp:80-65535 udp:2001
    3 in b from 10.10.0.10 10.10.1.10 fd00:10::a on tcp:80 tcp:8080 udp:1000-1999 sctp:7
    4 in b from port-2 on udp
    5 out b to nobody";

pub(crate) fn serving(proxy: ServiceProxy, node_traffic: NodeTraffic) -> Pipeline {
    policed(&served::node(DUAL, proxy), node_traffic)
}

pub(crate) fn flows(pipeline: &Pipeline) -> Vec<Flow> {
    flows_with(pipeline, RULES)
}

fn flows_with(pipeline: &Pipeline, text: &str) -> Vec<Flow> {
    let mut flows = served::node_flows(pipeline, DUAL);
    let mut policies = pipeline.policy_flows().unwrap();
    policies.apply(rules(&pods(DUAL), text));
    flows.extend(policies.flows());
    flows
}

/// A bridge for one test alone.
pub(crate) fn start(node_traffic: NodeTraffic) -> Bridge {
    start_with(node_traffic, RULES)
}

/// The same with other rules.
pub(crate) fn start_with(node_traffic: NodeTraffic, text: &str) -> Bridge {
    let pipeline = serving(everything(DUAL), node_traffic);
    let groups = Served::by(&everything(DUAL), DUAL).groups(&pipeline);
    Bridge::start(BridgeNames::of(&pipeline), &flows_with(&pipeline, text), &groups)
}

impl Bridge {
    /// Does a change of flows.
    pub(crate) fn change(&self, change: &FlowChange) {
        match change {
            FlowChange::Add(flow) | FlowChange::Modify(flow) => {
                self.ovs.ofctl(["add-flow", "br-int", &flow.to_string()]).unwrap();
            }
            FlowChange::Delete(flow) => {
                let text = Flow { cookie: Cookie(0), ..flow.clone() }.to_string();
                let matched = text.split(" actions=").next().unwrap();
                self.ovs.ofctl(["--strict", "del-flows", "br-int", matched]).unwrap();
            }
        }
    }
}

/// Where packets of the Node have a mark.
pub(crate) fn marking() -> Option<Arc<Bridge>> {
    static SHARED: Mutex<Weak<Bridge>> = Mutex::new(Weak::new());
    shared(&SHARED, || start(NodeTraffic::PacketMark))
}

/// Where they have a MAC address.
pub(crate) fn addressing() -> Option<Arc<Bridge>> {
    static SHARED: Mutex<Weak<Bridge>> = Mutex::new(Weak::new());
    shared(&SHARED, || start(NodeTraffic::SourceMac))
}

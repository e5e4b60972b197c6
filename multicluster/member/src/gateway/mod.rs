//! The Gateway of this cluster: which Node, and its object.
//!
//! The Node that is the Gateway stays it as long as it can; another takes over before it goes (make before break): one
//! that works goes when the other one says that it does. A Node whose agent is away, or that reaches nobody, is given up
//! only where another can take over that is not known to be as bad, and then at once.

mod candidate;
mod handover;
mod reports;

use std::cmp::Reverse;
use std::fmt;
use std::time::Duration;

use antrea_shared_api::multicluster::v1alpha1::ExportedMode;
use antrea_types::IpFamily;
use ipnet::IpNet;
use jiff::Timestamp;
use serde_json::{Value, json};

pub use candidate::{Candidate, NodeIpKind, Unfit};
pub use handover::Handovers;
pub use reports::{Failed, Reports, Standing};

use crate::action::{Action, ensure};
use crate::area::{Area, Plan, Tick};
use crate::kind::Kind;
use crate::objects::{Change, Key, Objects, at, is_leaving, text};

/// All Gateways of the cluster are decided on together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject;

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gateway")
    }
}

/// Why a Node that was chosen for it is not the Gateway.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Node {node} cannot be the Gateway: {reason}")]
pub struct Problem {
    /// The Node.
    pub node: String,
    /// Why.
    #[source]
    pub reason: Unfit,
}

/// Elects the Gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Election {
    /// The Namespace of the controller.
    pub namespace: String,
    /// Which address of a Node other clusters use, where nothing else is said.
    pub precedence: NodeIpKind,
    /// The networks of ClusterIPs.
    pub service_cidrs: Vec<IpNet>,
    /// Whether there is a Gateway at all.
    pub participation: Participation,
    /// What agents report.
    pub reports: Reports,
    /// Who has failed as the Gateway, and how.
    pub failed: Failed,
    /// For how long others have waited for a new Gateway.
    pub handovers: Handovers,
}

/// Whether this cluster is connected with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Participation {
    /// It is in no ClusterSet, and needs no Gateway.
    None,
    /// It is a member.
    Member,
}

impl Area for Election {
    type Subject = Subject;
    type Problem = Problem;

    fn remember(&mut self, before: &Self) {
        self.reports.clone_from(&before.reports);
        self.failed.clone_from(&before.failed);
        self.handovers.clone_from(&before.handovers);
    }

    fn kinds(&self) -> &'static [Kind] {
        &[Kind::Node, Kind::Gateway]
    }

    fn subjects(&self, _: &Objects, change: &Change) -> Vec<Subject> {
        match change.key.kind {
            Kind::Node | Kind::Gateway => vec![Subject],
            _ => Vec::new(),
        }
    }

    fn plan(&self, objects: &Objects, _: &Subject, _: Timestamp) -> Plan<Problem> {
        let nodes = objects.all(Kind::Node).filter_map(|(_, node)| Candidate::read(node, self.precedence));
        let (mut fit, mut problems) = (Vec::new(), Vec::new());
        for (name, candidate) in nodes {
            match candidate {
                Ok(candidate) => fit.push(candidate),
                Err(reason) => problems.push(Problem { node: name, reason }),
            }
        }
        let there = self.there(objects);
        let elected = match self.participation {
            Participation::Member => self.elect(&fit, &there),
            Participation::None => None,
        };
        let Some(elected) = elected else {
            let actions = there.iter().map(|(key, gateway)| Action::delete(key, gateway)).collect();
            return Plan { actions, problems };
        };
        let key = Key::new(Kind::Gateway, &self.namespace, &elected.name);
        let actual = objects.get(&key);
        let made = self.make(&key, actual, elected, &there);
        // The old one goes when the new one is there: never none in between.
        let ready = actual.filter(|_| made.is_none());
        let superseded = there.iter().filter(|(other, gateway)| {
            **other != key && ready.is_some_and(|new| !self.waits(objects, (other, gateway), (&key, new)))
        });
        let superseded: Vec<Action> = superseded.map(|(key, gateway)| Action::delete(key, gateway)).collect();
        Plan { actions: made.into_iter().chain(superseded).collect(), problems }
    }

    fn tick(&mut self, objects: &Objects, now: Duration) -> Tick<Subject> {
        self.reports.observe(objects, now);
        let failed = self.reports.failed();
        let overdue = self.handovers.observe(objects, now);
        let changed = failed != self.failed || overdue;
        self.failed = failed;
        let again = self.reports.next(now).into_iter().chain(self.handovers.next(now)).min();
        Tick { again, changed: if changed { vec![Subject] } else { Vec::new() } }
    }

    fn interrupted(&mut self, now: Duration) {
        self.reports.forgive(now);
    }
}

impl Election {
    fn there<'a>(&'a self, objects: &'a Objects) -> Vec<(&'a Key, &'a Value)> {
        objects
            .all(Kind::Gateway)
            .filter(|(key, gateway)| key.namespace == self.namespace && !is_leaving(gateway))
            .collect()
    }

    /// Of those that can, the best by what is known of them; of equals the present Gateway (of several, while one takes
    /// over, the youngest), else the first by name.
    fn elect<'a>(&self, fit: &'a [Candidate], there: &[(&Key, &Value)]) -> Option<&'a Candidate> {
        let rank = |candidate: &&'a Candidate| {
            let present =
                there.iter().find(|(key, _)| key.name == candidate.name).map(|(_, gateway)| *gateway);
            let age = present.map(|gateway| text(gateway, "/metadata/creationTimestamp").to_owned());
            (self.standing(&candidate.name, present), age, Reverse(candidate.name.as_str()))
        };
        fit.iter().max_by_key(rank)
    }

    fn standing(&self, name: &str, present: Option<&Value>) -> Standing {
        let assumed = match present {
            Some(gateway) if reports::is_cut_off(gateway) => Standing::CutOff,
            Some(_) => Standing::Works,
            None => Standing::Untried,
        };
        self.failed.get(name).copied().unwrap_or(assumed)
    }

    /// Whether a Gateway that works goes on until the new one does.
    fn waits(
        &self,
        objects: &Objects,
        (old_key, old): (&Key, &Value),
        (new_key, new): (&Key, &Value),
    ) -> bool {
        let node = objects.get(&Key::new(Kind::Node, "", &old_key.name));
        node.is_some_and(|node| !is_leaving(node))
            && self.standing(&old_key.name, Some(old)) == Standing::Works
            && !self.handovers.is_overdue(&new_key.name)
            && reports::reaches_more(old, new)
    }

    /// Brings the Gateway about. A new one lets in what the present one does, and nobody where there is none, until the exporter
    /// has said what is exported; that of one that is there stays as it is.
    fn make(
        &self,
        key: &Key,
        actual: Option<&Value>,
        elected: &Candidate,
        there: &[(&Key, &Value)],
    ) -> Option<Action> {
        let mut wanted = self.wanted(key, elected);
        if actual.is_none() {
            let listed = there.iter().find_map(|(_, gateway)| at(gateway, "/exported"));
            wanted["exported"] = listed.cloned().unwrap_or_else(|| json!({ "mode": ExportedMode::Listed }));
        }
        // It comes back once it is gone.
        ensure(Kind::Gateway, actual, &wanted).filter(|_| !actual.is_some_and(is_leaving))
    }

    /// The WireGuard key and the status are the agent's, and what is exported the exporter's.
    fn wanted(&self, key: &Key, elected: &Candidate) -> Value {
        let service_cidr = self.service_cidrs.iter().find(|cidr| IpFamily::of_net(cidr) == IpFamily::V4);
        json!({
            "apiVersion": "multicluster.crd.antrea.io/v1alpha1",
            "kind": "Gateway",
            "metadata": { "name": key.name, "namespace": key.namespace },
            "gatewayIP": elected.gateway_ip,
            "internalIP": elected.internal_ip,
            "serviceCIDR": service_cidr.map(ToString::to_string),
        })
    }
}

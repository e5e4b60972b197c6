//! What a leader makes of objects that are not in a cluster: for whoever wants to know before they are.

use std::collections::BTreeMap;
use std::time::Instant;

use antrea_kit::watch::WatchEvent;
use antrea_mc_core::limits::Limits;
use antrea_mc_core::membership::LeaseTimes;
use antrea_shared_api::multicluster::Condition;
use antrea_shared_api::multicluster::v1alpha1::{MemberClusterAnnounce, ResourceExport, ResourceImport};
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ServiceAccount;

use crate::action::Action;
use crate::approvals::KnownAccount;
use crate::area::Area;
use crate::event::Event;
use crate::export::Export;

/// The objects of a Common Area that imports are made of.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Says since when networks need approval.
    pub sets: Vec<ClusterSet>,
    /// Say which cluster has which networks.
    pub accounts: Vec<ServiceAccount>,
    /// What members say of themselves.
    pub announces: Vec<MemberClusterAnnounce>,
    /// What members export.
    pub exports: Vec<ResourceExport>,
}

/// What comes of the objects of a Common Area.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Merged {
    /// What members import, by name.
    pub imports: BTreeMap<String, ResourceImport>,
    /// What exporters are told, by the name of the ResourceExport.
    pub told: BTreeMap<String, Vec<Condition>>,
}

/// What a leader that begins now, in a Common Area with these objects and nothing else, writes at once.
pub fn merge(namespace: &str, given: Given, now: Timestamp) -> Merged {
    let Given { sets, accounts, announces, exports } = given;
    // Nobody's lease ends meanwhile: any moment will do.
    let moment = Instant::now();
    let mut area = Area::new(namespace, LeaseTimes::default(), Limits::default());
    let exports = exports.into_iter().map(|export| Export::from(ResourceExport { status: None, ..export }));
    let events = [
        Event::ClusterSet(WatchEvent::Resynced(sets)),
        Event::Account(WatchEvent::Resynced(accounts.into_iter().map(KnownAccount::from).collect())),
        Event::Announce(WatchEvent::Resynced(announces)),
        Event::Export(WatchEvent::Resynced(exports.collect())),
        Event::Import(WatchEvent::Resynced(Vec::new())),
    ];
    for event in events {
        area.learn(event, moment);
    }
    let mut merged = Merged::default();
    loop {
        for task in area.settle(moment) {
            write(&mut merged, area.plan(&task, now));
        }
        if area.is_settled() {
            return merged;
        }
    }
}

fn write(merged: &mut Merged, action: Option<Action>) {
    match action {
        Some(Action::CreateImport(import)) => {
            let name = import.metadata.name.clone().unwrap_or_default();
            merged.imports.insert(name, *import);
        }
        Some(Action::WriteExportStatus(change)) => {
            merged.told.insert(change.name, change.wanted.conditions);
        }
        _ => {}
    }
}

//! Tells which Pods of each Node are known.

use std::collections::BTreeMap;

use antrea_policy::{PodsUpdate, Text, Uid, Update};

use crate::Index;
use crate::cluster::pods::Journal;

impl Index {
    pub(super) fn tell_pods(&self, journal: &Journal, publish: &mut dyn FnMut(Update)) {
        let mut left: BTreeMap<&Text, Vec<Uid>> = BTreeMap::new();
        let mut came = Vec::new();
        for (id, before) in journal {
            let record = self.pods.get(*id);
            let place_before =
                before.as_ref().and_then(|state| Some((state.member.node.as_ref()?, &state.uid)));
            let place = record.node.zip(record.uid());
            let same = |node, uid| {
                place.is_some_and(|place| (self.pods.nodes.name(place.0), place.1) == (node, uid))
            };
            if let Some((node, uid)) = place_before {
                if same(node, uid) {
                    continue;
                }
                left.entry(node).or_default().push(uid.clone());
            }
            came.extend(place.map(|(node, uid)| (self.pods.nodes.rank(node), uid)));
        }
        for (node, left) in left {
            publish(Update::Pods(PodsUpdate { node: node.clone(), came: Vec::new(), left }));
        }
        came.sort_by_key(|(node, _)| *node);
        for of_node in came.chunk_by(|(node, _), (other, _)| node == other) {
            let came = of_node.iter().map(|(_, uid)| (*uid).clone()).collect();
            if let Some((rank, _)) = of_node.first() {
                let node = self.pods.nodes.at(*rank).clone();
                publish(Update::Pods(PodsUpdate { node, came, left: Vec::new() }));
            }
        }
    }
}

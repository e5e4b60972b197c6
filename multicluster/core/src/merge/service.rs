//! Merges what clusters export as one Service (KEP-1645, "Conflict Resolution").
//!
//! | what | which counts |
//! |---|---|
//! | ports | all of them; of two that exclude each other that of the older export |
//! | everything else | the oldest export's |
//! | exports of upstream members, which are ports alone | the oldest; later ones with other ports are left out |

use std::collections::{BTreeMap, BTreeSet};

use crate::conflict::{Conflict, Property};
use crate::export::{Export, by_age};
use crate::ids::ClusterId;
use crate::ports::PortIndex;
use crate::service::{ExportedService, Port, Properties};

/// What all clusters import, and what their exports disagree on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergedService {
    /// The ports, those of the oldest export first.
    pub ports: Vec<Port>,
    /// Everything else.
    pub properties: Properties,
    /// The clusters whose exports count, and the names of their ports that do.
    pub clusters: BTreeMap<ClusterId, BTreeSet<Box<str>>>,
    /// What every exporter is to be told.
    pub conflicts: Vec<Conflict>,
}

impl MergedService {
    /// Whether nothing of the cluster's export counts.
    pub fn refuses(&self, cluster: &ClusterId) -> bool {
        !self.clusters.contains_key(cluster)
    }
}

/// What comes of the exports of one Service; nothing where there is none.
pub fn service(exports: &[&Export<ExportedService>]) -> Option<MergedService> {
    let sorted = by_age(exports);
    let (taken, refused) = admit(&sorted);
    taken.first()?;
    let (properties, mut conflicts) = properties(&taken);
    let (ports, clusters, lost) = unite(&taken);
    conflicts.extend(lost);
    conflicts.extend(not_everywhere(&ports, &taken));
    conflicts.extend(refused);
    Some(MergedService { ports, properties, clusters, conflicts })
}

/// Which exports count at all. An upstream member cannot know of a union: it is there with all its ports or not at all.
fn admit<'a>(sorted: &[&'a Export<ExportedService>]) -> (Vec<&'a Export<ExportedService>>, Vec<Conflict>) {
    let Some(oldest) = sorted.first() else { return (Vec::new(), Vec::new()) };
    let (wanted, index) = (&oldest.payload.ports, PortIndex::of(&oldest.payload.ports));
    let is_same = |own: &[Port]| own.len() == wanted.len() && own.iter().all(|port| index.has(port));
    let fits = |export: &Export<ExportedService>| {
        export.payload.properties.is_some() || is_same(&export.payload.ports)
    };
    let (taken, refused): (Vec<_>, Vec<_>) = sorted.iter().copied().partition(|export| fits(export));
    let refusal = |export: &Export<_>| Conflict::Refused {
        cluster: export.cluster.clone(),
        winner: oldest.cluster.clone(),
    };
    (taken, refused.into_iter().map(refusal).collect())
}

type United = (Vec<Port>, BTreeMap<ClusterId, BTreeSet<Box<str>>>, Vec<Conflict>);

/// The union of all ports, the older export first.
fn unite(sorted: &[&Export<ExportedService>]) -> United {
    let (mut united, mut index) = (Vec::<(&Port, &ClusterId)>::new(), PortIndex::default());
    let (mut clusters, mut conflicts) = (BTreeMap::new(), Vec::new());
    for export in sorted {
        let names: &mut BTreeSet<Box<str>> = clusters.entry(export.cluster.clone()).or_default();
        for port in &export.payload.ports {
            let other = index.excluding(port).and_then(|place| united.get(place)).copied();
            if other.is_none() {
                index.push(port);
                united.push((port, &export.cluster));
            }
            if other.is_none_or(|(kept, _)| kept.is(port)) {
                names.insert(port.name.clone());
            }
            conflicts.extend(
                other
                    .filter(|(kept, _)| *kept != port)
                    .map(|(kept, winner)| lost(&export.cluster, port, winner, kept)),
            );
        }
    }
    (united.into_iter().map(|(port, _)| port.clone()).collect(), clusters, conflicts)
}

/// What is wrong with a port that differs from one of an older export.
fn lost(cluster: &ClusterId, port: &Port, winner: &ClusterId, kept: &Port) -> Conflict {
    let (cluster, port, winner) = (cluster.clone(), port.clone(), winner.clone());
    if kept.is(&port) {
        Conflict::AppProtocol { cluster, port, winner, kept: kept.app_protocol.clone() }
    } else {
        Conflict::PortLost { cluster, port, winner, kept: kept.clone() }
    }
}

/// The ports that some clusters have nothing like. Ports that exclude each other are told of already.
fn not_everywhere(ports: &[Port], sorted: &[&Export<ExportedService>]) -> Vec<Conflict> {
    let own =
        |export: &&Export<ExportedService>| (export.cluster.clone(), PortIndex::of(&export.payload.ports));
    let all: Vec<(ClusterId, PortIndex)> = sorted.iter().map(own).collect();
    let conflict = |port: &Port| {
        all.iter().find(|(_, own)| own.excluding(port).is_none())?;
        let exporters = all.iter().filter(|(_, own)| own.has(port));
        let clusters: BTreeSet<ClusterId> = exporters.map(|(cluster, _)| cluster.clone()).collect();
        Some(Conflict::PortNotEverywhere { port: port.clone(), clusters })
    };
    ports.iter().filter_map(conflict).collect()
}

/// The oldest export's properties, and what younger exports say else.
fn properties(sorted: &[&Export<ExportedService>]) -> (Properties, Vec<Conflict>) {
    let mut telling = sorted.iter().filter_map(|export| {
        export.payload.properties.as_ref().map(|properties| (&export.cluster, properties))
    });
    let Some((winner, oldest)) = telling.next() else { return (Properties::default(), Vec::new()) };
    let younger: Vec<_> = telling.collect();
    let conflict = |(property, text): PropertyText| {
        let value = text(oldest);
        let others: BTreeMap<ClusterId, String> = younger
            .iter()
            .map(|(cluster, properties)| ((*cluster).clone(), text(properties)))
            .filter(|(_, other)| *other != value)
            .collect();
        (!others.is_empty()).then(|| Conflict::Differs { property, winner: winner.clone(), value, others })
    };
    (oldest.clone(), TEXTS.into_iter().filter_map(conflict).collect())
}

/// A property, and how its value is written: equal texts are equal values.
type PropertyText = (Property, fn(&Properties) -> String);

const TEXTS: [PropertyText; 8] = [
    (Property::Type, |of| of.service_type.to_string()),
    (Property::SessionAffinity, |of| of.session_affinity.to_string()),
    (Property::SessionAffinityConfig, |of| {
        of.affinity_seconds.map_or("the default".to_owned(), |seconds| format!("{seconds} s"))
    }),
    (Property::InternalTrafficPolicy, |of| of.internal_traffic_policy.to_string()),
    (Property::TrafficDistribution, |of| of.traffic_distribution.as_deref().unwrap_or("none").to_owned()),
    (Property::IpFamilies, |of| of.ip_families.iter().map(ToString::to_string).collect::<Vec<_>>().join("+")),
    (Property::Labels, |of| pairs(&of.labels)),
    (Property::Annotations, |of| pairs(&of.annotations)),
];

fn pairs(of: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> = of.iter().map(|(key, value)| format!("{key}={value:?}")).collect();
    format!("{{{}}}", pairs.join(", "))
}

//! What holds for every history of a Common Area: what it comes to depends on what is exported in the end, and not on what
//! was before.

use std::collections::BTreeMap;

use antrea_shared_api::multicluster::Condition;
use antrea_shared_api::multicluster::v1alpha1::{ResourceExport, ResourceImport, ResourceImportSpec};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::imports::web;
use super::members::announce;
use super::networks::account;
use super::others::policy;
use super::world::{NAMESPACE, World};
use crate::{Given, merge};

/// A Common Area, and how often which cluster has ended the export of which Service.
struct History {
    world: World,
    ended: BTreeMap<(u8, u8), u8>,
}

impl History {
    /// A ServiceExport has one age for all of its life.
    fn origin(&self, cluster: u8, service: u8) -> &'static str {
        let ended = self.ended.get(&(cluster, service)).copied().unwrap_or_default();
        ORIGINS[usize::from(cluster + 2 * service + ended) % ORIGINS.len()]
    }
}

/// The Services that are exported, by Namespace and name. Two of them would share a name at upstream.
const SERVICES: [(&str, &str); 5] =
    [("shop", "web0"), ("shop", "web1"), ("shop", "web2"), ("shop", "web-api"), ("shop-web", "api")];

/// Imports that somebody deletes or edits.
const IMPORTS: [&str; 4] =
    ["shop-web0-service", "shop-web1-service", "shop-web2-service", "shop-web-api-service"];

/// Networks that clusters announce. `c0` exports addresses in 10.0.0.0/16, `c1` in the next one, and so on.
const NETWORKS: [&str; 6] =
    ["10.0.0.0/16", "10.1.0.0/16", "10.2.0.0/16", "10.0.0.0/15", "10.2.0.0/15", "10.9.0.0/16"];

/// Something that happens in a Common Area. Services are numbered, exporters are `c0` to `c3`.
#[derive(Clone, Debug)]
enum Step {
    /// A cluster exports a Service, or exports it otherwise.
    Export { cluster: u8, service: u8, port: u16, address: u8 },
    /// That cluster does not export that Service any more.
    Unexport(u8, u8),
    /// A cluster announces that it has this network, and no other.
    Announce(u8, &'static str),
    /// An admin gives a cluster the ServiceAccount of this day, in the place of another.
    Account(u8, u8),
    /// An admin exports a policy in this ResourceExport, with this priority.
    Policy(u8, u8),
    /// And takes it back.
    NoPolicy(u8),
    /// Somebody deletes an import.
    Delete(&'static str),
    /// Somebody edits one.
    Edit(&'static str),
    /// The leader does what is to be done.
    Settle,
    /// The leader ends, and another one begins.
    Restart,
}

/// Nothing, as upstream's members say, or since when a Service is exported: before some accounts are there and after.
const ORIGINS: [&str; 3] = [
    "",
    "origin: {creationTimestamp: '2026-11-21T09:00:01Z', type: ClusterSetIP}, ",
    "origin: {creationTimestamp: '2026-11-21T08:00:00Z', type: Headless}, ",
];

fn step() -> impl Strategy<Value = Step> {
    let export = (0..4_u8, 0..5_u8, select(vec![80_u16, 81]), 1..4_u8);
    let export =
        export.prop_map(|(cluster, service, port, address)| Step::Export { cluster, service, port, address });
    prop_oneof![
        6 => export,
        3 => (0..4_u8, 0..5_u8).prop_map(|(cluster, service)| Step::Unexport(cluster, service)),
        2 => (0..4_u8, select(NETWORKS.to_vec())).prop_map(|(cluster, network)| Step::Announce(cluster, network)),
        1 => (0..4_u8, 20..23_u8).prop_map(|(cluster, day)| Step::Account(cluster, day)),
        1 => (0..3_u8, 1..3_u8).prop_map(|(export, priority)| Step::Policy(export, priority)),
        1 => (0..3_u8).prop_map(Step::NoPolicy),
        1 => select(IMPORTS.to_vec()).prop_map(Step::Delete),
        1 => select(IMPORTS.to_vec()).prop_map(Step::Edit),
        4 => Just(Step::Settle),
        1 => Just(Step::Restart),
    ]
}

fn happen(history: &mut History, step: &Step) {
    if let Step::Unexport(cluster, service) = step {
        *history.ended.entry((*cluster, *service)).or_default() += 1;
    }
    let origin = match step {
        Step::Export { cluster, service, .. } => history.origin(*cluster, *service),
        _ => "",
    };
    change(&mut history.world, step, origin);
}

fn change(world: &mut World, step: &Step, origin: &str) {
    match step {
        Step::Export { cluster, service, port, address } => {
            let export =
                web(&format!("c{cluster}"), *port, &format!("10.{cluster}.0.{address}"), cluster % 3);
            let (namespace, name) = SERVICES[usize::from(*service)];
            let export = export
                .replace("serviceSpec:", &format!("{origin}serviceSpec:"))
                .replace("-shop-web-", &format!("-{service}-"))
                .replace("name: web, namespace: shop", &format!("name: {name}, namespace: {namespace}"));
            write(world, &format!("c{cluster}-{service}-service"), &export);
        }
        Step::Unexport(cluster, service) => {
            for kind in ["endpoints", "service"] {
                delete(world, "ResourceExport", &format!("c{cluster}-{service}-{kind}"));
            }
        }
        Step::Announce(cluster, network) => announces(world, *cluster, network),
        Step::Account(cluster, day) => world.apply(&account(&format!("c{cluster}"), *day, "")),
        Step::Policy(export, priority) => {
            let name = format!("policy{export}");
            write(world, &name, &policy(&name, *export, *priority));
        }
        Step::NoPolicy(export) => delete(world, "ResourceExport", &format!("policy{export}")),
        Step::Delete(import) => delete(world, "ResourceImport", import),
        Step::Edit(import) if world.has("ResourceImport", import) => {
            world.edit("ResourceImport", import, |import| import["spec"]["serviceImport"] = json!({}));
        }
        Step::Edit(_) => {}
        Step::Settle => drop(world.actions()),
        Step::Restart => world.restart(),
    }
}

fn announces(world: &mut World, cluster: u8, network: &str) {
    let (kind, name) = ("MemberClusterAnnounce", format!("member-announce-from-c{cluster}"));
    if world.has(kind, &name) {
        world.edit(kind, &name, |announce| announce["serviceCIDRs"] = json!([network]));
    } else {
        world.apply(&announce(&format!("c{cluster}"), cluster, &format!("serviceCIDRs: [{network}]")));
    }
}

/// What is on its way out cannot be written anew: whoever wants to waits until the leader has let it go.
fn write(world: &mut World, name: &str, yaml: &str) {
    let kind = "ResourceExport";
    if world.has(kind, name) && world.object(kind, name).pointer("/metadata/deletionTimestamp").is_some() {
        world.actions();
    }
    world.apply(yaml);
}

fn delete(world: &mut World, kind: &str, name: &str) {
    if world.has(kind, name) {
        world.delete(kind, name);
    }
}

fn undated(mut conditions: Vec<Condition>) -> Vec<Condition> {
    conditions.iter_mut().for_each(|condition| condition.last_transition_time = None);
    conditions
}

/// Of which kind an import is, and of what. Of two things that would share a name the first to come has it.
type Imported = (String, String, String);

type Merged = (BTreeMap<Imported, ResourceImportSpec>, BTreeMap<String, Vec<Condition>>);

fn imported(imports: impl IntoIterator<Item = ResourceImport>) -> BTreeMap<Imported, ResourceImportSpec> {
    let of = |spec: &ResourceImportSpec| {
        (spec.kind.as_str().to_owned(), spec.namespace.clone(), spec.name.clone())
    };
    imports.into_iter().map(|import| (of(&import.spec), import.spec)).collect()
}

fn written(world: &World) -> Merged {
    let exports = world.all::<ResourceExport>("ResourceExport").into_iter();
    let told = |export: ResourceExport| {
        (export.metadata.name.unwrap(), undated(export.status.unwrap_or_default().conditions))
    };
    (imported(world.all::<ResourceImport>("ResourceImport")), exports.map(told).collect())
}

fn from_scratch(world: &World) -> Merged {
    let (accounts, announces) = (world.all("ServiceAccount"), world.all("MemberClusterAnnounce"));
    let given = Given { accounts, announces, exports: world.all("ResourceExport"), ..Given::default() };
    let merged = merge(NAMESPACE, given, world.time);
    let told = merged.told.into_iter().map(|(name, conditions)| (name, undated(conditions)));
    (imported(merged.imports.into_values()), told.collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn what_was_before_does_not_matter(steps in vec(step(), 1..60)) {
        let mut history = History { world: World::of(""), ended: BTreeMap::new() };
        for step in &steps {
            happen(&mut history, step);
        }
        let mut world = history.world;
        world.actions();
        prop_assert_eq!(world.actions(), "", "and that is all");
        prop_assert_eq!(written(&world), from_scratch(&world));
    }
}

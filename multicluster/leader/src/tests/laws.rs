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
use super::others::policy;
use super::world::{NAMESPACE, World};
use crate::{Given, merge};

/// Something that happens in a Common Area. Services are `web0` to `web2`, exporters `c0` to `c3`.
#[derive(Clone, Debug)]
enum Step {
    /// A cluster exports a Service, or exports it otherwise.
    Export { cluster: u8, service: u8, port: u16, address: u8, origin: &'static str },
    /// That cluster does not export that Service any more.
    Unexport(u8, u8),
    /// An admin exports a policy in this ResourceExport, with this priority.
    Policy(u8, u8),
    /// And takes it back.
    NoPolicy(u8),
    /// Somebody deletes what is imported of a Service.
    Delete(u8),
    /// Somebody edits it.
    Edit(u8),
    /// The leader does what is to be done.
    Settle,
    /// The leader ends, and another one begins.
    Restart,
}

/// Nothing, as upstream's members say, or since when a Service is exported.
const ORIGINS: [&str; 3] = [
    "",
    "origin: {creationTimestamp: '2026-11-21T09:00:01Z', type: ClusterSetIP}, ",
    "origin: {creationTimestamp: '2026-11-21T08:00:00Z', type: Headless}, ",
];

fn step() -> impl Strategy<Value = Step> {
    let export = (0..4_u8, 0..3_u8, select(vec![80_u16, 81]), 1..4_u8, select(ORIGINS.to_vec()));
    let export = export.prop_map(|(cluster, service, port, address, origin)| Step::Export {
        cluster,
        service,
        port,
        address,
        origin,
    });
    prop_oneof![
        6 => export,
        3 => (0..4_u8, 0..3_u8).prop_map(|(cluster, service)| Step::Unexport(cluster, service)),
        1 => (0..3_u8, 1..3_u8).prop_map(|(export, priority)| Step::Policy(export, priority)),
        1 => (0..3_u8).prop_map(Step::NoPolicy),
        1 => (0..3_u8).prop_map(Step::Delete),
        1 => (0..3_u8).prop_map(Step::Edit),
        4 => Just(Step::Settle),
        1 => Just(Step::Restart),
    ]
}

fn happen(world: &mut World, step: &Step) {
    let service_import = |service: &u8| format!("shop-web{service}-service");
    match step {
        Step::Export { cluster, service, port, address, origin } => {
            let export =
                web(&format!("c{cluster}"), *port, &format!("10.{cluster}.0.{address}"), cluster % 3);
            let export = export.replace("serviceSpec:", &format!("{origin}serviceSpec:"));
            let name = format!("c{cluster}-shop-web{service}-service");
            write(world, &name, &export.replace("web", &format!("web{service}")));
        }
        Step::Unexport(cluster, service) => {
            for kind in ["endpoints", "service"] {
                delete(world, "ResourceExport", &format!("c{cluster}-shop-web{service}-{kind}"));
            }
        }
        Step::Policy(export, priority) => {
            let name = format!("policy{export}");
            write(world, &name, &policy(&name, *export, *priority));
        }
        Step::NoPolicy(export) => delete(world, "ResourceExport", &format!("policy{export}")),
        Step::Delete(service) => delete(world, "ResourceImport", &service_import(service)),
        Step::Edit(service) if world.has("ResourceImport", &service_import(service)) => {
            world.edit("ResourceImport", &service_import(service), |import| {
                import["spec"]["serviceImport"] = json!({});
            });
        }
        Step::Edit(_) => {}
        Step::Settle => drop(world.actions()),
        Step::Restart => world.restart(),
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

type Merged = (BTreeMap<String, ResourceImportSpec>, BTreeMap<String, Vec<Condition>>);

fn written(world: &World) -> Merged {
    let imports = world.all::<ResourceImport>("ResourceImport").into_iter();
    let exports = world.all::<ResourceExport>("ResourceExport").into_iter();
    let told = |export: ResourceExport| {
        (export.metadata.name.unwrap(), undated(export.status.unwrap_or_default().conditions))
    };
    (
        imports.map(|import| (import.metadata.name.unwrap(), import.spec)).collect(),
        exports.map(told).collect(),
    )
}

fn from_scratch(world: &World) -> Merged {
    let given = Given { exports: world.all("ResourceExport"), ..Given::default() };
    let merged = merge(NAMESPACE, given, world.time);
    let told = merged.told.into_iter().map(|(name, conditions)| (name, undated(conditions)));
    (merged.imports.into_iter().map(|(name, import)| (name, import.spec)).collect(), told.collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn what_was_before_does_not_matter(steps in vec(step(), 1..60)) {
        let mut world = World::of("");
        for step in &steps {
            happen(&mut world, step);
        }
        world.actions();
        prop_assert_eq!(world.actions(), "", "and that is all");
        prop_assert_eq!(written(&world), from_scratch(&world));
    }
}

//! Exports become imports, and stay so.

use super::others::policy;
use super::world::World;

/// A Service and its endpoint, as an upstream member exports them.
pub(super) fn web(cluster: &str, port: u16, address: &str, second: u8) -> String {
    let metadata = |kind: &str| {
        format!(
            "apiVersion: multicluster.crd.antrea.io/v1alpha1\nkind: ResourceExport\nmetadata: {{name: {cluster}-shop-web-{kind}, \
             namespace: antrea-multicluster, finalizers: [resourceexport.antrea.io/finalizer], generation: 1, \
             uid: uid-of-{cluster}, creationTimestamp: '2026-11-21T09:00:{second:02}Z'}}"
        )
    };
    format!(
        "{}\nspec: {{clusterID: {cluster}, name: web, namespace: shop, kind: Service, service: {{serviceSpec: {{ports: \
         [{{name: http, port: {port}, protocol: TCP}}]}}}}}}\n---\n{}\nspec: {{clusterID: {cluster}, name: web, namespace: shop, \
         kind: Endpoints, endpoints: {{subsets: [{{addresses: [{{ip: {address}}}], ports: [{{name: http, port: {port}, \
         protocol: TCP}}]}}]}}}}\n---\n",
        metadata("service"),
        metadata("endpoints")
    )
}

fn two() -> World {
    let mut world = World::of(&(web("east", 80, "10.100.0.1", 1) + &web("west", 80, "10.101.0.1", 2)));
    world.actions();
    world
}

#[test]
fn an_export_becomes_an_import_and_the_exporter_is_told() {
    let mut world = World::of(&web("east", 80, "10.100.0.1", 1));
    insta::assert_snapshot!(world.actions(), @r#"
    create ResourceImport shop-web-endpoints {name: web, namespace: shop, kind: Endpoints, endpoints: {subsets: [{addresses: [{ip: 10.100.0.1}], ports: [{name: http, port: 80, protocol: TCP}]}], clusters: [{clusterID: east, endpointSlices: [{addressType: IPv4, ports: [{name: http, port: 80, protocol: TCP}], endpoints: [{addresses: [10.100.0.1]}]}]}]}}
    create ResourceImport shop-web-service {name: web, namespace: shop, kind: ServiceImport, serviceImport: {metadata: {}, spec: {ports: [{name: http, protocol: TCP, port: 80}], type: ClusterSetIP, sessionAffinity: None, internalTrafficPolicy: Cluster}, status: {clusters: [{cluster: east}]}}}
    tell east-shop-web-endpoints: Succeeded=True
    tell east-shop-web-service: Succeeded=True | Conflict=False NoConflicts
    "#);
    assert_eq!(world.actions(), "", "and that is all");
}

#[test]
fn a_second_exporter_changes_only_what_differs() {
    let mut world = World::of(&web("east", 80, "10.100.0.1", 1));
    world.actions();
    world.apply(&web("west", 80, "10.101.0.1", 2));
    insta::assert_snapshot!(world.actions(), @r#"
    change ResourceImport shop-web-endpoints {endpoints: {subsets: [{addresses: [{ip: 10.100.0.1}, {ip: 10.101.0.1}], ports: [{name: http, port: 80, protocol: TCP}]}], clusters: [{clusterID: east, endpointSlices: [{addressType: IPv4, ports: [{name: http, port: 80, protocol: TCP}], endpoints: [{addresses: [10.100.0.1]}]}]}, {clusterID: west, endpointSlices: [{addressType: IPv4, ports: [{name: http, port: 80, protocol: TCP}], endpoints: [{addresses: [10.101.0.1]}]}]}]}}
    change ResourceImport shop-web-service {serviceImport: {status: {clusters: [{cluster: east}, {cluster: west}]}}}
    tell west-shop-web-endpoints: Succeeded=True
    tell west-shop-web-service: Succeeded=True | Conflict=False NoConflicts
    "#);
}

#[test]
fn work_is_as_small_as_the_change() {
    let many =
        (0..300).map(|number| web("east", 80, "10.100.0.1", 1).replace("web", &format!("web-{number}")));
    let mut world = World::of(&many.collect::<String>());
    world.tasks();
    world.apply(&web("east", 80, "10.100.0.2", 1).replace("web", "web-7"));
    let tasks = world.tasks();
    assert_eq!(
        tasks.into_iter().map(|task| format!("{task:?}")).collect::<Vec<_>>().join(" "),
        r#"Import("shop-web-7-endpoints") Export("east-shop-web-7-endpoints") Export("east-shop-web-7-service")"#
    );
}

#[test]
fn who_is_refused_is_told_and_its_old_endpoints_go() {
    let mut world = two();
    world.apply(&web("west", 8080, "10.101.0.1", 2));
    insta::assert_snapshot!(world.actions(), @r#"
    change ResourceImport shop-web-endpoints {endpoints: {subsets: [{addresses: [{ip: 10.100.0.1}], ports: [{name: http, port: 80, protocol: TCP}]}], clusters: [{clusterID: east, endpointSlices: [{addressType: IPv4, ports: [{name: http, port: 80, protocol: TCP}], endpoints: [{addresses: [10.100.0.1]}]}]}]}}
    change ResourceImport shop-web-service {serviceImport: {status: {clusters: [{cluster: east}]}}}
    tell east-shop-web-service: Succeeded=True | Conflict=True PortConflict the export of cluster west is left out: its ports differ from those of cluster east, whose export is older
    tell west-shop-web-endpoints: Failure=False ConvergeFailure the export of cluster west is left out: its ports differ from those of cluster east, whose export is older
    tell west-shop-web-service: Failure=False ConvergeFailure the export of cluster west is left out: its ports differ from those of cluster east, whose export is older | Conflict=True PortConflict the export of cluster west is left out: its ports differ from those of cluster east, whose export is older
    "#);
}

#[test]
fn when_the_first_exporter_leaves_the_second_one_counts() {
    let mut world = two();
    world.apply(&web("west", 8080, "10.101.0.1", 2));
    world.actions();
    world.delete("ResourceExport", "east-shop-web-service");
    world.delete("ResourceExport", "east-shop-web-endpoints");
    insta::assert_snapshot!(world.actions(), @r#"
    change ResourceImport shop-web-endpoints {endpoints: {subsets: [{addresses: [{ip: 10.101.0.1}], ports: [{name: http, port: 8080, protocol: TCP}]}], clusters: [{clusterID: west, endpointSlices: [{addressType: IPv4, ports: [{name: http, port: 8080, protocol: TCP}], endpoints: [{addresses: [10.101.0.1]}]}]}]}}
    change ResourceImport shop-web-service {serviceImport: {spec: {ports: [{name: http, protocol: TCP, port: 8080}]}, status: {clusters: [{cluster: west}]}}}
    keep finalizers [] of ResourceExport east-shop-web-endpoints
    keep finalizers [] of ResourceExport east-shop-web-service
    tell west-shop-web-endpoints: Succeeded=True
    tell west-shop-web-service: Succeeded=True | Conflict=False NoConflicts
    "#);
}

#[test]
fn endpoints_follow_their_service_at_once() {
    let mut world = two();
    world.apply(&web("west", 8080, "10.101.0.1", 2));
    world.actions();
    world.delete("ResourceExport", "east-shop-web-service");
    let actions = world.actions();
    let endpoints = "change ResourceImport shop-web-endpoints {endpoints: {subsets: [{addresses: [{ip: 10.101.0.1}], \
                     ports: [{name: http, port: 8080, protocol: TCP}]}]";
    assert!(actions.contains(endpoints), "{actions}");
}

#[test]
fn the_import_goes_with_the_last_export() {
    let mut world = World::of(&web("east", 80, "10.100.0.1", 1));
    world.actions();
    world.delete("ResourceExport", "east-shop-web-service");
    world.delete("ResourceExport", "east-shop-web-endpoints");
    insta::assert_snapshot!(world.actions(), @r#"
    delete ResourceImport shop-web-endpoints
    delete ResourceImport shop-web-service
    keep finalizers [] of ResourceExport east-shop-web-endpoints
    keep finalizers [] of ResourceExport east-shop-web-service
    "#);
}

#[test]
fn an_import_that_somebody_deletes_or_edits_is_repaired() {
    let mut world = two();
    world.delete("ResourceImport", "shop-web-service");
    world.edit("ResourceImport", "shop-web-endpoints", |import| {
        import["spec"]["endpoints"] = serde_json::json!({});
    });
    insta::assert_snapshot!(world.actions(), @r#"
    change ResourceImport shop-web-endpoints {endpoints: {subsets: [{addresses: [{ip: 10.100.0.1}, {ip: 10.101.0.1}], ports: [{name: http, port: 80, protocol: TCP}]}], clusters: [{clusterID: east, endpointSlices: [{addressType: IPv4, ports: [{name: http, port: 80, protocol: TCP}], endpoints: [{addresses: [10.100.0.1]}]}]}, {clusterID: west, endpointSlices: [{addressType: IPv4, ports: [{name: http, port: 80, protocol: TCP}], endpoints: [{addresses: [10.101.0.1]}]}]}]}}
    create ResourceImport shop-web-service {name: web, namespace: shop, kind: ServiceImport, serviceImport: {metadata: {}, spec: {ports: [{name: http, protocol: TCP, port: 80}], type: ClusterSetIP, sessionAffinity: None, internalTrafficPolicy: Cluster}, status: {clusters: [{cluster: east}, {cluster: west}]}}}
    "#);
}

#[test]
fn the_clusters_that_an_import_is_for_are_the_admins_affair() {
    let mut world = two();
    world.edit("ResourceImport", "shop-web-service", |import| {
        import["spec"]["clusterID"] = serde_json::json!(["east"]);
    });
    assert_eq!(world.actions(), "");
    world.apply(&web("east", 81, "10.100.0.1", 1));
    let actions = world.actions();
    assert!(actions.contains("change ResourceImport shop-web-service {serviceImport: "), "{actions}");
    let import = world.object("ResourceImport", "shop-web-service");
    assert_eq!(import["spec"]["clusterID"], serde_json::json!(["east"]));
}

#[test]
fn an_import_of_somebody_else_is_left_alone() {
    let mut world = World::of(
        "apiVersion: multicluster.crd.antrea.io/v1alpha1\nkind: ResourceImport\nmetadata: {name: mine, namespace: antrea-multicluster}\n\
         spec: {name: web, namespace: shop, kind: ServiceImport, serviceImport: {}}\n",
    );
    assert_eq!(world.actions(), "");
}

#[test]
fn an_import_whose_exports_went_while_no_leader_was_there_goes() {
    let mut world = World::of(
        "apiVersion: multicluster.crd.antrea.io/v1alpha1\nkind: ResourceImport\nmetadata: {name: shop-web-service, \
         namespace: antrea-multicluster}\nspec: {name: web, namespace: shop, kind: ServiceImport, serviceImport: {}}\n---\n\
         apiVersion: multicluster.crd.antrea.io/v1alpha1\nkind: ResourceImport\nmetadata: {name: 6afca6a8c6339ee5, \
         namespace: antrea-multicluster}\nspec: {kind: LabelIdentity, labelIdentity: {label: 'ns:a=b&pod:', id: 7}}\n",
    );
    insta::assert_snapshot!(world.actions(), @"
    delete ResourceImport 6afca6a8c6339ee5
    delete ResourceImport shop-web-service
    ");
}

#[test]
fn nothing_is_kept_of_what_members_say_of_imports() {
    let mut world = World::of(&(web("east", 80, "10.100.0.1", 1) + &policy("strict", 1, 1)));
    world.actions();
    let name = "strict-antreaclusternetworkpolicy";
    world.edit("ResourceImport", name, |import| {
        let said = serde_json::json!([{ "type": "Succeeded", "status": "False", "message": "a long story" }]);
        import["status"] =
            serde_json::json!({ "clusterStatuses": [{ "clusterID": "east", "conditions": said }] });
    });
    world.list_anew();
    assert_eq!(world.actions(), "");
    world.apply(&policy("strict", 1, 2));
    let actions = world.actions();
    assert!(actions.starts_with(&format!("change ResourceImport {name} ")), "{actions}");
    assert!(world.object("ResourceImport", name).to_string().contains("a long story"));
    assert!(!format!("{:?}", world.area).contains("a long story"));
}

#[test]
fn a_restart_changes_nothing() {
    let mut world = two();
    world.restart();
    assert_eq!(world.actions(), "");
}

#[test]
fn an_export_that_says_nothing_useful_is_told_so() {
    let mut world = World::of(
        "apiVersion: multicluster.crd.antrea.io/v1alpha1\nkind: ResourceExport\nmetadata: {name: odd, \
         namespace: antrea-multicluster}\nspec: {clusterID: east, kind: Nonsense}\n---\n\
         apiVersion: multicluster.crd.antrea.io/v1alpha1\nkind: ResourceExport\nmetadata: {name: empty, \
         namespace: antrea-multicluster}\nspec: {clusterID: east, kind: Service, name: web, namespace: shop}\n",
    );
    insta::assert_snapshot!(world.actions(), @r#"
    tell empty: Failure=False ConvergeFailure spec.service: is missing; exports of this kind need it | Conflict=False NoConflicts
    tell odd: Failure=False ConvergeFailure spec.kind: "Nonsense" is not exported; kinds are Service, Endpoints, ClusterInfo, AntreaClusterNetworkPolicy, LabelIdentity, ExternalEntity
    "#);
}

#[test]
fn labels_keep_their_numbers() {
    let label = |cluster: &str, label: &str| {
        format!(
            "apiVersion: multicluster.crd.antrea.io/v1alpha1\nkind: ResourceExport\nmetadata: {{name: {cluster}-{}, \
             namespace: antrea-multicluster}}\nspec: {{clusterID: {cluster}, kind: LabelIdentity, labelIdentity: \
             {{normalizedLabel: '{label}'}}}}\n---\n",
            label.len()
        )
    };
    let (a, b) = ("ns:name=a&pod:", "ns:name=b&pod:app=web");
    let mut world = World::of(&(label("east", a) + &label("west", a) + &label("east", b)));
    insta::assert_snapshot!(world.actions(), @r#"
    create ResourceImport a27f811dad60337e {kind: LabelIdentity, labelIdentity: {label: ns:name=a&pod:, id: 1}}
    create ResourceImport dbd5af70f3a18e9f {kind: LabelIdentity, labelIdentity: {label: ns:name=b&pod:app=web, id: 2}}
    tell east-14: Succeeded=True
    tell east-21: Succeeded=True
    tell west-14: Succeeded=True
    "#);
    world.delete("ResourceExport", "east-14");
    assert_eq!(world.actions(), "", "another cluster has the labels");
    world.delete("ResourceExport", "west-14");
    insta::assert_snapshot!(world.actions(), @"delete ResourceImport a27f811dad60337e");
    world.restart();
    world.apply(&label("west", "ns:name=c&pod:app=db"));
    insta::assert_snapshot!(world.actions(), @r#"
    create ResourceImport 0780798307d02f65 {kind: LabelIdentity, labelIdentity: {label: ns:name=c&pod:app=db, id: 3}}
    tell west-20: Succeeded=True
    "#);
}

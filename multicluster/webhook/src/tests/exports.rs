//! ResourceExports.

use antrea_kit::watch::WatchEvent;

use super::{answer, known, objects};
use crate::{Event, Hook, Known};

#[track_caller]
fn check_in(known: &Known, who: &str, verb: &str, yaml: &str, expected: &str) {
    assert_eq!(answer(known, Hook::ResourceExport, who, verb, yaml), expected, "{who} {verb} {yaml}");
}

#[track_caller]
fn check(who: &str, verb: &str, yaml: &str, expected: &str) {
    check_in(&known(), who, verb, yaml, expected);
}

/// A change of one word.
#[track_caller]
fn with(yaml: &str, from: &str, to: &str) -> String {
    assert!(yaml.contains(from), "{from}");
    yaml.replace(from, to)
}

#[track_caller]
fn update(yaml: &str, from: &str, to: &str) -> String {
    format!("{yaml}---{}", with(yaml, from, to))
}

const SERVICE: &str = "
metadata:
  name: east-shop-web-service
  namespace: mc
  labels: {sourceName: web, sourceNamespace: shop, sourceClusterID: east, sourceKind: Service}
  finalizers: [resourceexport.antrea.io/finalizer]
spec: {clusterID: east, kind: Service, namespace: shop, name: web, service: {serviceSpec: {ports: [{name: http, port: 80, protocol: TCP}]}}}
";

const ENDPOINTS: &str = "
metadata:
  name: east-shop-web-endpoints
  namespace: mc
  labels: {sourceName: web, sourceNamespace: shop, sourceClusterID: east, sourceKind: Endpoints}
  finalizers: [resourceexport.antrea.io/finalizer]
spec: {clusterID: east, kind: Endpoints, namespace: shop, name: web, endpoints: {subsets: [{addresses: [{ip: 10.1.0.7}]}]}}
";

const INFO: &str = "
metadata:
  name: east-clusterinfo
  namespace: mc
  labels: {sourceClusterID: east, sourceKind: ClusterInfo}
  finalizers: [resourceexport.antrea.io/finalizer]
spec: {clusterID: east, kind: ClusterInfo, namespace: kube-system, name: east, clusterInfo: {clusterID: east, serviceCIDR: 10.1.0.0/16, gatewayInfos: [{gatewayIP: 172.18.0.2}]}}
";

const LABELS: &str = "
metadata:
  name: east-1834cf0966b64b41
  namespace: mc
  labels: {sourceClusterID: east, sourceKind: LabelIdentity}
spec: {clusterID: east, kind: LabelIdentity, labelIdentity: {normalizedLabel: 'ns:kubernetes.io/metadata.name=shop&pod:app=web'}}
";

const POLICY: &str = "
metadata: {name: strict, namespace: mc}
spec: {kind: AntreaClusterNetworkPolicy, name: strict, clusterNetworkPolicy: {priority: 1, appliedTo: []}}
";

#[test]
fn a_member_writes_its_own_exports() {
    for export in [SERVICE, ENDPOINTS, INFO, LABELS] {
        check("mc/east-token", "create", export, "allowed");
        check("mc/east-token", "update", &format!("{export}---{export}"), "allowed");
        check("mc/east-token", "delete", export, "allowed");
    }
}

#[test]
fn a_member_writes_no_exports_of_others() {
    let refused = "403: cluster west may not write a ResourceExport of cluster \"east\"";
    let taken = update(SERVICE, "clusterID: east, kind", "clusterID: west, kind");
    for (verb, yaml) in [("create", SERVICE), ("delete", SERVICE), ("update", &taken)] {
        check("mc/west-token", verb, yaml, refused);
    }
    check(
        "mc/east-token",
        "update",
        &taken,
        "403: cluster east may not write a ResourceExport of cluster \"west\"",
    );
}

#[test]
fn a_status_is_the_leaders_answer() {
    let forged = update(SERVICE, "spec:", "status: {conditions: [{type: Failure, status: 'False'}]}\nspec:");
    let refused = "403: members may not write the status of ResourceExports: it is the leader's answer";
    check("mc/west-token", "status", &forged, refused);
    check("mc/east-token", "status", &forged, refused);
    check("kube-system/antrea-mc-controller", "status", &forged, "allowed");
    check(
        "argo/argo",
        "status",
        &forged,
        "403: system:serviceaccount:argo:argo is bound to no cluster, and may not export anything for one",
    );
}

#[test]
fn who_is_bound_to_no_cluster_exports_nothing_for_one() {
    for who in ["mc/default", "mc/empty"] {
        for export in [SERVICE, POLICY] {
            let answer = answer(&known(), Hook::ResourceExport, who, "create", export);
            assert!(
                answer.starts_with(&format!("403: ServiceAccount {who} is bound to no cluster")),
                "{answer}"
            );
        }
    }
    check(
        "argo/argo",
        "create",
        SERVICE,
        "403: system:serviceaccount:argo:argo is bound to no cluster, and may not export anything for one",
    );
    check("argo/argo", "create", POLICY, "allowed");
    check("agent@n1", "create", SERVICE, "403: antrea-agent writes no ResourceExports");
}

#[test]
fn the_leader_kubernetes_and_admins_write_all_of_them() {
    let let_go = update(SERVICE, "finalizers: [resourceexport.antrea.io/finalizer]", "finalizers: []");
    for who in ["kube-system/antrea-mc-controller", "kube-system/namespace-controller", "admin", "master"] {
        check(who, "update", &let_go, "allowed");
        check(who, "delete", SERVICE, "allowed");
    }
    check("admin", "create", POLICY, "allowed");
    check(
        "admin",
        "create",
        &with(POLICY, ", name: strict, cluster", ", cluster"),
        "422: spec.name: is missing",
    );
}

#[test]
fn members_do_not_make_policies() {
    let policy = with(POLICY, "kind: Antrea", "clusterID: east, kind: Antrea");
    check(
        "mc/east-token",
        "create",
        &policy,
        "403: members may not export kind AntreaClusterNetworkPolicy: only Service, Endpoints, ClusterInfo and LabelIdentity",
    );
    check(
        "mc/east-token",
        "create",
        POLICY,
        "403: cluster east may not write a ResourceExport of cluster \"\"",
    );
    check(
        "mc/east-token",
        "create",
        &with(SERVICE, "kind: Service,", "kind: Secret,"),
        "403: members may not export kind Secret: only Service, Endpoints, ClusterInfo and LabelIdentity",
    );
}

#[test]
fn the_payload_of_the_kind_is_there_and_valid() {
    check(
        "mc/east-token",
        "create",
        &with(SERVICE, "service: {serviceSpec: {ports: [{name: http, port: 80, protocol: TCP}]}}", "raw: {}"),
        "422: spec.service: is missing: the kind is Service; spec.raw: does not belong to the kind Service",
    );
    check(
        "mc/east-token",
        "create",
        &with(SERVICE, "port: 80", "port: 80000"),
        "422: spec.service.serviceSpec.ports[0].port: 80000 is not from 1 to 65535",
    );
    check(
        "mc/east-token",
        "create",
        &with(INFO, "clusterInfo: {clusterID: east", "clusterInfo: {clusterID: west"),
        "422: spec.clusterInfo.clusterID: must be \"east\", as spec.clusterID",
    );
    check(
        "mc/east-token",
        "update",
        &update(SERVICE, "name: web, service:", "name: web2, service:"),
        "422: spec.name: cannot be changed",
    );
}

#[test]
fn names_derive_from_the_cluster_and_what_it_exports() {
    check(
        "mc/east-token",
        "create",
        &with(SERVICE, "name: east-shop-web-service", "name: west-shop-web-service"),
        "403: the name of this export of cluster east is \"east-shop-web-service\", not \"west-shop-web-service\"",
    );
    check(
        "mc/east-token",
        "create",
        &with(LABELS, "name: east-", "name: east-1"),
        "403: the name of this export of cluster east is \"east-1834cf0966b64b41\", not \"east-11834cf0966b64b41\"",
    );
    let dashed = SERVICE.replace("shop", "shop-1");
    check("mc/east-token", "create", &dashed, "allowed");
    let unambiguous = "east-shop-1-web-service-";
    let answer = answer(
        &known(),
        Hook::ResourceExport,
        "mc/east-token",
        "create",
        &with(&dashed, "name: east-", "name: x-"),
    );
    let name = answer.split('"').nth(1).unwrap();
    assert!(name.starts_with(unambiguous), "{answer}");
    check(
        "mc/east-token",
        "create",
        &with(&dashed, "name: east-shop-1-web-service", &format!("name: {name}")),
        "allowed",
    );
}

#[test]
fn labels_say_what_the_spec_says() {
    check(
        "mc/east-token",
        "create",
        &with(SERVICE, "sourceName: web", "sourceName: api"),
        "403: metadata.labels[sourceName]: must be \"web\", as spec says",
    );
    check(
        "mc/east-token",
        "create",
        &with(INFO, "sourceClusterID: east", "sourceClusterID: west"),
        "403: metadata.labels[sourceClusterID]: must be \"east\", as spec says",
    );
}

#[test]
fn the_leader_sees_exports_go() {
    let missing =
        "403: metadata.finalizers: resourceexport.antrea.io/finalizer is missing; only the leader removes it";
    let held = "[resourceexport.antrea.io/finalizer]";
    check("mc/east-token", "create", &with(SERVICE, held, "[]"), missing);
    check("mc/east-token", "update", &update(SERVICE, held, "[other]"), missing);
    check(
        "mc/east-token",
        "update",
        &update(SERVICE, held, "[resourceexport.finalizers.antrea.io]"),
        "allowed",
    );
    check("mc/east-token", "update", &update(&with(SERVICE, held, "[]"), "port: 80", "port: 81"), "allowed");
}

#[test]
fn a_member_exports_addresses_in_its_networks_alone() {
    for (ip, expected) in [
        ("10.1.255.1", "allowed"),
        ("10.101.0.7", "403: 10.101.0.7 is in no network that cluster east has announced"),
        ("10.2.0.1", "403: 10.2.0.1 is in Service CIDR 10.2.0.0/16 of cluster west"),
        ("203.0.113.7", "403: 203.0.113.7 is in no network that cluster east has announced"),
        (
            "169.254.169.254",
            "422: spec.endpoints.subsets[0].addresses[0].ip: \"169.254.169.254\" cannot be reached by other hosts: it is a link-local address",
        ),
        (
            "255.255.255.255",
            "403: 255.255.255.255 is a loopback, link-local, multicast or unspecified address",
        ),
    ] {
        check("mc/east-token", "create", &with(ENDPOINTS, "10.1.0.7", ip), expected);
        check("mc/east-token", "update", &update(ENDPOINTS, "10.1.0.7", ip), expected);
    }
    let not_ready = with(ENDPOINTS, "{addresses: [{ip: 10.1.0.7}]}", "{notReadyAddresses: [{ip: 10.2.0.1}]}");
    check(
        "mc/east-token",
        "create",
        &not_ready,
        "403: 10.2.0.1 is in Service CIDR 10.2.0.0/16 of cluster west",
    );
    let slice = with(
        ENDPOINTS,
        "subsets: [{addresses: [{ip: 10.1.0.7}]}]",
        "endpointSlices: [{addressType: IPv4, endpoints: [{addresses: [10.1.0.7, 10.2.0.1]}]}]",
    );
    check("mc/east-token", "create", &slice, "403: 10.2.0.1 is in Service CIDR 10.2.0.0/16 of cluster west");
}

#[test]
fn a_member_that_announced_no_networks_exports_what_nobody_else_has() {
    let of_old = |ip| with(&ENDPOINTS.replace("east", "old"), "10.1.0.7", ip);
    check("mc/old-token", "create", &of_old("203.0.113.7"), "allowed");
    check(
        "mc/old-token",
        "create",
        &of_old("10.2.0.1"),
        "403: 10.2.0.1 is in Service CIDR 10.2.0.0/16 of cluster west",
    );
    // Its ClusterInfo counts as an announce of networks.
    let known = known();
    let info = INFO.replace("east", "old").replace("10.1.0.0/16", "10.3.0.0/16");
    known.learn("mc", Event::ClusterInfo(WatchEvent::Applied(Box::new(objects(&info).remove(0)))));
    check_in(&known, "mc/old-token", "create", &of_old("10.3.0.1"), "allowed");
    check_in(
        &known,
        "mc/old-token",
        "create",
        &of_old("203.0.113.7"),
        "403: 203.0.113.7 is in no network that cluster old has announced",
    );
    check_in(
        &known,
        "mc/east-token",
        "create",
        &with(ENDPOINTS, "10.1.0.7", "10.3.0.1"),
        "403: 10.3.0.1 is in Service CIDR 10.3.0.0/16 of cluster old",
    );
}

#[test]
fn what_was_exported_before_does_not_stop_a_change() {
    let before = with(ENDPOINTS, "{ip: 10.1.0.7}", "{ip: 10.2.0.1}");
    check(
        "mc/east-token",
        "update",
        &update(&before, "{ip: 10.2.0.1}", "{ip: 10.2.0.1}, {ip: 10.1.0.8}"),
        "allowed",
    );
}

#[test]
fn a_member_tells_of_its_own_networks_alone() {
    let info = |networks: &str| with(INFO, "serviceCIDR: 10.1.0.0/16", networks);
    check("mc/east-token", "create", &info("serviceCIDR: 10.1.0.0/16, podCIDRs: [10.101.0.0/16]"), "allowed");
    check(
        "mc/east-token",
        "create",
        &info("serviceCIDR: 10.2.0.0/16"),
        "403: Service CIDR 10.2.0.0/16 overlaps Service CIDR 10.2.0.0/16 of cluster west: clusters of a ClusterSet need networks of their own",
    );
    check(
        "mc/east-token",
        "update",
        &update(INFO, "serviceCIDR: 10.1.0.0/16", "podCIDRs: [198.51.100.0/24]"),
        "403: 198.51.100.0/24 is in no network that cluster east has announced",
    );
    let world = "403: Pod CIDR 0.0.0.0/0 contains loopback, link-local, multicast or unspecified addresses: name the networks of the cluster; Pod CIDR 0.0.0.0/0 overlaps Service CIDR 10.1.0.0/16 of cluster east: clusters of a ClusterSet need networks of their own; Pod CIDR 0.0.0.0/0 overlaps Service CIDR 10.2.0.0/16 of cluster west: clusters of a ClusterSet need networks of their own";
    check("mc/old-token", "create", &info("podCIDRs: [0.0.0.0/0]").replace("east", "old"), world);
    check(
        "mc/east-token",
        "create",
        &with(INFO, "172.18.0.2", "10.2.0.9"),
        "403: gateway 10.2.0.9 is in Service CIDR 10.2.0.0/16 of cluster west",
    );
}

#[test]
fn pods_that_others_may_reach_have_networks_of_their_own() {
    let known = known();
    let of_west = INFO
        .replace("east", "west")
        .replace("serviceCIDR: 10.1.0.0/16", "serviceCIDR: 10.2.0.0/16, podCIDRs: [10.102.0.0/16]");
    known.learn("mc", Event::ClusterInfo(WatchEvent::Applied(Box::new(objects(&of_west).remove(0)))));
    check_in(
        &known,
        "mc/old-token",
        "create",
        &with(&INFO.replace("east", "old"), "serviceCIDR: 10.1.0.0/16", "podCIDRs: [10.102.3.0/24]"),
        "403: Pod CIDR 10.102.3.0/24 overlaps Pod CIDR 10.102.0.0/16 of cluster west: clusters of a ClusterSet need networks of their own",
    );
}

#[test]
fn nobody_is_let_in_before_enough_is_known() {
    let known = Known::new(super::installation());
    assert!(!known.is_complete());
    check_in(
        &known,
        "mc/east-token",
        "create",
        SERVICE,
        "503: the Multi-cluster controller has not read the objects of this Namespace yet: try again",
    );
    known.learn("mc", Event::ClusterSet(WatchEvent::Resynced(Vec::new())));
    check_in(
        &known,
        "mc/east-token",
        "create",
        SERVICE,
        "503: the Multi-cluster controller has not read the ServiceAccounts of this Namespace yet: try again",
    );
    let account = "metadata: {name: east-token, annotations: {multicluster.antrea.io/cluster-id: east}}";
    known.learn("mc", Event::Account(WatchEvent::Resynced(objects(account))));
    check_in(&known, "mc/east-token", "create", SERVICE, "allowed");
    check_in(
        &known,
        "mc/east-token",
        "create",
        ENDPOINTS,
        "503: the Multi-cluster controller has not read the MemberClusterAnnounces of this Namespace yet: try again",
    );
    known.learn("mc", Event::Account(WatchEvent::Deleted(objects(account).remove(0))));
    let answer = answer(&known, Hook::ResourceExport, "mc/east-token", "delete", SERVICE);
    assert!(answer.starts_with("403: ServiceAccount mc/east-token is bound to no cluster"), "{answer}");
}

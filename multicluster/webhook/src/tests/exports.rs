//! Who may write which ResourceExports.

use antrea_kit::watch::WatchEvent;

use super::{EAST, answer, known, objects};
use crate::{Event, Hook, Known};

#[track_caller]
pub(super) fn check_in(known: &Known, who: &str, verb: &str, yaml: &str, expected: &str) {
    assert_eq!(answer(known, Hook::ResourceExport, who, verb, yaml), expected, "{who} {verb} {yaml}");
}

#[track_caller]
pub(super) fn check(who: &str, verb: &str, yaml: &str, expected: &str) {
    check_in(&known(), who, verb, yaml, expected);
}

/// A change of one word.
#[track_caller]
pub(super) fn with(yaml: &str, from: &str, to: &str) -> String {
    assert!(yaml.contains(from), "{from}");
    yaml.replace(from, to)
}

#[track_caller]
pub(super) fn update(yaml: &str, from: &str, to: &str) -> String {
    format!("{yaml}---{}", with(yaml, from, to))
}

pub(super) const SERVICE: &str = "
metadata:
  name: east-shop-web-service
  namespace: mc
  labels: {sourceName: web, sourceNamespace: shop, sourceClusterID: east, sourceKind: Service}
  finalizers: [resourceexport.antrea.io/finalizer]
spec: {clusterID: east, kind: Service, namespace: shop, name: web, service: {serviceSpec: {ports: [{name: http, port: 80, protocol: TCP}]}}}
";

pub(super) const ENDPOINTS: &str = "
metadata:
  name: east-shop-web-endpoints
  namespace: mc
  labels: {sourceName: web, sourceNamespace: shop, sourceClusterID: east, sourceKind: Endpoints}
  finalizers: [resourceexport.antrea.io/finalizer]
spec: {clusterID: east, kind: Endpoints, namespace: shop, name: web, endpoints: {subsets: [{addresses: [{ip: 10.1.0.7}]}]}}
";

pub(super) const INFO: &str = "
metadata:
  name: east-clusterinfo
  namespace: mc
  labels: {sourceClusterID: east, sourceKind: ClusterInfo}
  finalizers: [resourceexport.antrea.io/finalizer]
spec: {clusterID: east, kind: ClusterInfo, namespace: kube-system, name: east, clusterInfo: {clusterID: east, serviceCIDR: 10.1.0.0/16, gatewayInfos: [{gatewayIP: 172.18.0.2}]}}
";

pub(super) const LABELS: &str = "
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
    let refused = "403: members may not export kind AntreaClusterNetworkPolicy: only Service, Endpoints, ClusterInfo and LabelIdentity";
    check("mc/east-token", "create", &policy, refused);
    check("mc/east-token", "delete", &policy, refused);
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
fn who_has_announced_nothing_exports_nothing() {
    let known = known();
    let of_north = [SERVICE, ENDPOINTS, INFO, LABELS].map(|export| export.replace("east", "north"));
    let refused = "412: cluster north has not announced itself: there is no MemberClusterAnnounce member-announce-from-north";
    let announce = EAST.replace("east", "north").replace("10.1.0.0", "10.3.0.0").replace("10.101", "10.103");
    for export in &of_north {
        check_in(&known, "mc/north-token", "create", export, refused);
        check_in(&known, "mc/north-token", "update", &format!("{export}---{export}"), refused);
        check_in(&known, "mc/north-token", "delete", export, "allowed");
    }
    known.learn("mc", Event::Announce(WatchEvent::Applied(objects(&announce).remove(0))));
    let service = of_north.first().unwrap();
    check_in(&known, "mc/north-token", "create", service, "allowed");
    let leaves = with(&announce, "namespace: mc", "namespace: mc, deletionTimestamp: '2026-11-21T00:00:00Z'");
    known.learn("mc", Event::Announce(WatchEvent::Applied(objects(&leaves).remove(0))));
    check_in(&known, "mc/north-token", "create", service, "412: cluster north leaves the ClusterSet");
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
    check_in(
        &known,
        "mc/east-token",
        "create",
        SERVICE,
        "503: the Multi-cluster controller has not read the MemberClusterAnnounces of this Namespace yet: try again",
    );
    known.learn("mc", Event::Announce(WatchEvent::Resynced(objects(EAST))));
    check_in(
        &known,
        "mc/east-token",
        "create",
        SERVICE,
        "503: the Multi-cluster controller has not read the ResourceExports of this Namespace yet: try again",
    );
    known.learn("mc", Event::Export(WatchEvent::Resynced(Vec::new())));
    check_in(&known, "mc/east-token", "create", SERVICE, "allowed");
    check_in(&known, "mc/east-token", "create", ENDPOINTS, "allowed");
    known.learn("mc", Event::Account(WatchEvent::Deleted(objects(account).remove(0))));
    let answer = answer(&known, Hook::ResourceExport, "mc/east-token", "delete", SERVICE);
    assert!(answer.starts_with("403: ServiceAccount mc/east-token is bound to no cluster"), "{answer}");
}

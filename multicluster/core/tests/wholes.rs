//! What is exported as a whole: policies, networks of clusters, labels, external entities.

use crate::area::{Area, service_cidrs};

fn policy(export: &str, minute: u8, priority: u8) -> String {
    format!(
        "
metadata: {{name: {export}, creationTimestamp: '2026-01-01T00:{minute:02}:00Z'}}
spec: {{kind: AntreaClusterNetworkPolicy, name: strict, clusterNetworkPolicy: {{priority: {priority}, tier: securityops}}}}"
    )
}

#[test]
fn of_two_policies_with_one_name_the_older_counts() {
    let mut area = Area::of(&[policy("b", 1, 5), policy("a", 2, 1), policy("c", 3, 5)]);
    insta::assert_snapshot!(area.text(), @"
    strict-antreaclusternetworkpolicy AntreaClusterNetworkPolicy /strict
      clusternetworkpolicy.priority: 5
      clusternetworkpolicy.tier: securityops
      a refused: differs from ResourceExport b, which is older: make them the same, or delete one
      b taken
      c taken
    ");
    area.delete("b");
    insta::assert_snapshot!(area.text(), @"
    strict-antreaclusternetworkpolicy AntreaClusterNetworkPolicy /strict
      clusternetworkpolicy.priority: 1
      clusternetworkpolicy.tier: securityops
      a taken
      c refused: differs from ResourceExport a, which is older: make them the same, or delete one
    ");
}

fn cluster_info(cluster: &str, info: &str) -> String {
    format!(
        "
metadata: {{name: {cluster}-clusterinfo}}
spec: {{kind: ClusterInfo, clusterID: {cluster}, name: {cluster}, namespace: kube-system, clusterInfo: {{{info}}}}}"
    )
}

#[test]
fn networks_and_gateways_are_imported_as_they_are() {
    let info = "clusterID: east, serviceCIDR: 10.96.0.0/16, gatewayInfos: [{gatewayIP: 172.18.5.11}], wireGuard: {publicKey: a2V5}";
    insta::assert_snapshot!(Area::of(&[cluster_info("east", info)]).text(), @"
    east-clusterinfo ClusterInfo antrea-multicluster/east-clusterinfo
      clusterinfo.clusterID: east
      clusterinfo.serviceCIDR: 10.96.0.0/16
      clusterinfo.gatewayInfos: {gatewayIP: 172.18.5.11}
      clusterinfo.wireGuard.publicKey: a2V5
      east-clusterinfo taken
    ");
}

#[test]
fn networks_of_others_are_refused() {
    let mut area = Area::of(&[
        cluster_info("east", "clusterID: east, serviceCIDR: 10.96.0.0/16"),
        cluster_info("west", "clusterID: west, serviceCIDR: 10.96.128.0/17"),
        cluster_info("north", "clusterID: north, serviceCIDR: 0.0.0.0/0"),
        cluster_info("south", "clusterID: east, serviceCIDR: 10.99.0.0/16"),
        cluster_info("centre", "clusterID: centre, serviceCIDR: 10.99.0.0"),
    ]);
    area.claims = service_cidrs(&[("east", "10.96.0.0/16")]);
    insta::assert_snapshot!(area.text(), @r#"
    no centre-clusterinfo
      centre-clusterinfo refused: spec.clusterInfo.serviceCIDR: "10.99.0.0" is no network, as 10.0.0.0/16
    east-clusterinfo ClusterInfo antrea-multicluster/east-clusterinfo
      clusterinfo.clusterID: east
      clusterinfo.serviceCIDR: 10.96.0.0/16
      east-clusterinfo taken
    no north-clusterinfo
      north-clusterinfo refused: Service CIDR 0.0.0.0/0 contains loopback, link-local, multicast or reserved addresses: name the networks of the cluster; Service CIDR 0.0.0.0/0 overlaps Service CIDR 10.96.0.0/16 of cluster east: clusters of a ClusterSet need networks of their own
    no south-clusterinfo
      south-clusterinfo refused: spec.clusterInfo.clusterID: "east" is not spec.clusterID "south"
    no west-clusterinfo
      west-clusterinfo refused: Service CIDR 10.96.128.0/17 overlaps Service CIDR 10.96.0.0/16 of cluster east: clusters of a ClusterSet need networks of their own
    "#);
}

#[test]
fn labels_are_imported_with_their_number() {
    let export = "
metadata: {name: east-3c62ea4851ac2068}
spec: {kind: LabelIdentity, clusterID: east, labelIdentity: {normalizedLabel: 'ns:kubernetes.io/metadata.name=shop,team=a&pod:app=fe'}}";
    let mut area = Area::of(&[export.to_owned()]);
    insta::assert_snapshot!(area.text(), @"
    no 3c62ea4851ac2068
      east-3c62ea4851ac2068 refused: all numbers for labels are in use: export fewer of them
    ");
    let label = "ns:kubernetes.io/metadata.name=shop,team=a&pod:app=fe";
    area.labels.export(&"east".parse().unwrap(), label);
    insta::assert_snapshot!(area.text(), @"
    3c62ea4851ac2068 LabelIdentity /
      labelIdentity.label: ns: kubernetes.io/metadata.name=shop, team=a&pod: app=fe
      labelIdentity.id: 1
      east-3c62ea4851ac2068 taken
    ");
}

#[test]
fn labels_that_are_not_normalized_are_refused() {
    let export = "
metadata: {name: east-1}
spec: {kind: LabelIdentity, clusterID: east, labelIdentity: {normalizedLabel: 'pod:a=b'}}";
    insta::assert_snapshot!(Area::of(&[export.to_owned()]).text(), @r#"east-1: spec.labelIdentity.normalizedLabel: "pod:a=b" is not of the form "ns:KEY=VALUE,...&pod:KEY=VALUE,..." with sorted keys"#);
}

#[test]
fn external_entities_are_imported() {
    let export = "
metadata: {name: east-shop-vm-externalentity}
spec: {kind: ExternalEntity, clusterID: east, namespace: shop, name: vm, externalEntity: {externalEntitySpec: {endpoints: [{ip: 192.0.2.1}]}}}";
    insta::assert_snapshot!(Area::of(&[export.to_owned()]).text(), @"
    shop-vm-externalentity ExternalEntity shop/vm
      externalentity.externalentityspec.endpoints: {ip: 192.0.2.1}
      east-shop-vm-externalentity taken
    ");
}

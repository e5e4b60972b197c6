//! Multi-cluster objects recorded from upstream come through our types unchanged.

use antrea_shared_api::multicluster::{v1alpha1, v1alpha2};
use antrea_shared_api::{labels, mcs};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{check, items, yaml};

pub(crate) const CLUSTER_SETS: &str = include_str!("../golden/multicluster/clustersets.yaml");
pub(crate) const ANNOUNCES: &str = include_str!("../golden/multicluster/memberclusterannounces.yaml");
pub(crate) const EXPORTS: &str = include_str!("../golden/multicluster/resourceexports.yaml");
pub(crate) const IMPORTS: &str = include_str!("../golden/multicluster/resourceimports.yaml");
pub(crate) const GATEWAYS: &str = include_str!("../golden/multicluster/gateways.yaml");
pub(crate) const CLUSTER_INFO_IMPORTS: &str = include_str!("../golden/multicluster/clusterinfoimports.yaml");
pub(crate) const LABEL_IDENTITIES: &str = include_str!("../golden/multicluster/labelidentities.yaml");
pub(crate) const SERVICE_EXPORTS: &str = include_str!("../golden/multicluster/serviceexports-v1alpha1.yaml");
pub(crate) const SERVICE_IMPORTS: &str = include_str!("../golden/multicluster/serviceimports-v1alpha1.yaml");

/// All of them.
pub(crate) const ALL: [&str; 9] = [
    CLUSTER_SETS,
    ANNOUNCES,
    EXPORTS,
    IMPORTS,
    GATEWAYS,
    CLUSTER_INFO_IMPORTS,
    LABEL_IDENTITIES,
    SERVICE_EXPORTS,
    SERVICE_IMPORTS,
];

/// Every object of a recorded list.
#[track_caller]
fn check_all<T: Serialize + DeserializeOwned>(recorded: &str) {
    items(&yaml(recorded)).iter().for_each(check::<T>);
}

#[test]
fn objects_of_the_cluster_set() {
    check_all::<v1alpha2::ClusterSet>(CLUSTER_SETS);
    check_all::<v1alpha1::MemberClusterAnnounce>(ANNOUNCES);
    check_all::<v1alpha1::Gateway>(GATEWAYS);
    check_all::<v1alpha1::ClusterInfoImport>(CLUSTER_INFO_IMPORTS);
    check_all::<v1alpha1::LabelIdentity>(LABEL_IDENTITIES);
}

#[test]
fn exports_and_imports() {
    check_all::<v1alpha1::ResourceExport>(EXPORTS);
    check_all::<v1alpha1::ResourceImport>(IMPORTS);
}

#[test]
fn services_of_the_cluster_set() {
    check_all::<mcs::v1alpha1::ServiceExport>(SERVICE_EXPORTS);
    check_all::<mcs::v1alpha1::ServiceImport>(SERVICE_IMPORTS);
}

#[test]
fn label_identities_have_the_names_of_their_labels() {
    for item in items(&yaml(LABEL_IDENTITIES)) {
        let label = item["spec"]["label"].as_str().unwrap();
        assert_eq!(item["metadata"]["name"], labels::identity_name(label));
        let parsed = labels::parse(label).unwrap();
        assert_eq!(labels::normalized(&parsed.namespace, &parsed.pod), label);
    }
}

#[test]
fn versions_of_mcs_are_the_same_but_for_their_name() {
    for item in items(&yaml(SERVICE_EXPORTS)) {
        let old: mcs::v1alpha1::ServiceExport = serde_json::from_value(item.clone()).unwrap();
        let new = mcs::v1beta1::ServiceExport::from(old.clone());
        assert_eq!(new.api_version, "multicluster.x-k8s.io/v1beta1");
        assert_eq!(mcs::v1alpha1::ServiceExport::from(new), old);
    }
    for item in items(&yaml(SERVICE_IMPORTS)) {
        let old: mcs::v1alpha1::ServiceImport = serde_json::from_value(item.clone()).unwrap();
        let new = mcs::v1beta1::ServiceImport::from(old.clone());
        assert_eq!(new.api_version, "multicluster.x-k8s.io/v1beta1");
        assert_eq!(mcs::v1alpha1::ServiceImport::from(new), old);
    }
}

/// What our members and leaders say beyond upstream, as it is spelled.
#[test]
fn additions_to_upstream() {
    check::<v1alpha1::ResourceExport>(&yaml(
        "{apiVersion: multicluster.crd.antrea.io/v1alpha1, kind: ResourceExport, metadata: {}, spec: {clusterID: a, \
         name: web, namespace: shop, kind: Service, service: {serviceSpec: {ports: [{name: http, port: 80}], \
         sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 10}}, ipFamilies: [IPv6, IPv4], \
         internalTrafficPolicy: Local, trafficDistribution: PreferClose, externalIPs: [192.0.2.1]}, origin: \
         {creationTimestamp: '2026-11-21T09:49:27Z', type: Headless, labels: {a: b}, annotations: {c: d}}}}, \
         status: {conditions: [{type: Succeeded, status: 'True'}, {type: Conflict, status: 'True', reason: PortConflict}], \
         observedGeneration: 2}}",
    ));
    check::<v1alpha1::ResourceImport>(&yaml(
        "{apiVersion: multicluster.crd.antrea.io/v1alpha1, kind: ResourceImport, metadata: {}, spec: {clusterID: [a, b], \
         name: web, namespace: shop, kind: Endpoints, endpoints: {clusters: [{clusterID: a, endpointSlices: \
         [{addressType: IPv6, ports: [{name: http, port: 80, protocol: TCP, appProtocol: http}], endpoints: \
         [{addresses: ['fd00::1'], hostname: web-0, zone: z, conditions: {ready: false, serving: true, terminating: true}}]}]}]}}}",
    ));
    check::<v1alpha1::ResourceImport>(&yaml(
        "{apiVersion: multicluster.crd.antrea.io/v1alpha1, kind: ResourceImport, metadata: {}, spec: {name: web, \
         namespace: shop, kind: ServiceImport, serviceImport: {metadata: {labels: {a: b}, creationTimestamp: null}, \
         spec: {ports: [{port: 80}], type: Headless, ipFamilies: [IPv4]}, status: {endpointSliceObjects: Present, \
         clusters: [{cluster: a}]}}}}",
    ));
    check::<v1alpha1::Gateway>(&yaml(
        "{apiVersion: multicluster.crd.antrea.io/v1alpha1, kind: Gateway, metadata: {name: node-b1}, gatewayIP: 192.0.2.1, \
         wireGuard: {publicKey: k}, exported: {mode: Listed, addresses: [10.96.0.7/32], podCIDRs: [10.10.0.0/16]}, \
         status: {probe: {heartbeatTime: '2026-11-21T09:49:27.123456Z', peers: \
         [{clusterID: a, gatewayIP: 192.0.2.2, reached: false}], nodes: {probed: 3, reached: 2, unreached: [node-b2]}}}}",
    ));
    check::<v1alpha1::MemberClusterAnnounce>(&yaml(
        "{apiVersion: multicluster.crd.antrea.io/v1alpha1, kind: MemberClusterAnnounce, metadata: {}, clusterID: a, \
         serviceCIDRs: [10.96.0.0/12, 'fd00::/108'], podCIDRs: [10.244.0.0/16], endpointIPType: PodIP, version: 0.1.0}",
    ));
}

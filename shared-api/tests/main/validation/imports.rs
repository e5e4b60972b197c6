//! What members import, and what is in members only.

use antrea_shared_api::mcs;
use antrea_shared_api::multicluster::v1alpha1;

use super::{NOT_A_LABEL, check};

#[test]
fn an_import_carries_what_its_kind_says() {
    check::<v1alpha1::ResourceImport>(
        "spec: {clusterID: [A], name: web, namespace: shop, kind: ServiceImport, clusterinfo: {clusterID: a}}",
        &[
            &format!("spec.clusterID[0]: \"A\" {NOT_A_LABEL}"),
            "spec.serviceImport: is missing: the kind is ServiceImport",
            "spec.clusterinfo: does not belong to the kind ServiceImport",
        ],
    );
    check::<v1alpha1::ResourceImport>(
        "spec: {name: web, namespace: shop, kind: Endpoints, endpoints: {clusters: [{endpointSlices: [{addressType: IPv4}]}]}}",
        &["spec.endpoints.clusters[0].clusterID: is missing"],
    );
    check::<v1alpha1::ResourceImport>(
        "spec: {kind: LabelIdentity, labelIdentity: {label: 'ns:&pod:'}}",
        &["spec.labelIdentity.id: 0 is not from 1 to 16777214"],
    );
}

#[test]
fn an_imported_service_is_as_a_service_import() {
    check::<v1alpha1::ResourceImport>(
        "spec: {name: web, namespace: shop, kind: ServiceImport, serviceImport: {metadata: {labels: {a: ' '}}, spec: {type: Other, ports: [{port: -1}]}}}",
        &[
            "spec.serviceImport.metadata.labels[a]: \" \" is not the value of a label: letters, digits, '-', '_' and '.', 63 characters at most, beginning and ending with a letter or digit",
            "spec.serviceImport.spec.ports[0].port: -1 is not from 1 to 65535",
            "spec.serviceImport.spec.type: \"Other\" is none of ClusterSetIP, Headless",
        ],
    );
}

#[test]
fn a_gateway_has_two_addresses() {
    check::<v1alpha1::Gateway>(
        "{internalIP: 169.254.0.1, serviceCIDR: 10.96.0.0/33}",
        &[
            "gatewayIP: is missing",
            "internalIP: \"169.254.0.1\" cannot be reached by other hosts, as no link-local address can",
            "serviceCIDR: \"10.96.0.0/33\" is not a CIDR, as 10.96.0.0/12",
        ],
    );
}

#[test]
fn a_gateway_lists_networks_that_others_can_reach() {
    let gateway = "gatewayIP: 172.18.0.2, internalIP: 172.18.0.2";
    check::<v1alpha1::Gateway>(
        &format!(
            "{{{gateway}, exported: {{mode: Listed, addresses: [10.96.0.7/32], podCIDRs: ['fd00:10::/56']}}}}"
        ),
        &[],
    );
    check::<v1alpha1::Gateway>(
        &format!("{{{gateway}, exported: {{addresses: [10.96.0.7, 10.96.0.8/32], podCIDRs: [0.0.0.0/0]}}}}"),
        &[
            "exported.mode: is missing",
            "exported.addresses[0]: \"10.96.0.7\" is not a CIDR, as 10.96.0.0/12",
            "exported.podCIDRs[0]: \"0.0.0.0/0\" has addresses that other hosts cannot reach, as no unspecified address can",
        ],
    );
}

#[test]
fn a_label_identity_has_the_name_of_its_labels() {
    check::<v1alpha1::LabelIdentity>(
        "{metadata: {name: x}, spec: {label: 'ns:a=b&pod:', id: 16777215}}",
        &["metadata.name: must be \"6afca6a8c6339ee5\"", "spec.id: 16777215 is not from 1 to 16777214"],
    );
}

#[test]
fn a_service_export_exports_labels() {
    check::<mcs::v1beta1::ServiceExport>(
        "spec: {exportedLabels: {app: web}, exportedAnnotations: {a: any text}}",
        &[],
    );
    check::<mcs::v1beta1::ServiceExport>("{}", &[]);
    check::<mcs::v1beta1::ServiceExport>(
        "spec: {exportedAnnotations: {a/b/c: x}}",
        &["spec.exportedAnnotations: \"a/b/c\" is not a qualified name, as app or example.org/app"],
    );
}

#[test]
fn a_headless_service_import_has_no_address() {
    check::<mcs::v1beta1::ServiceImport>("spec: {type: Headless, ports: []}", &[]);
    check::<mcs::v1beta1::ServiceImport>(
        "spec: {type: Headless, ports: null, ips: [10.0.0.1]}",
        &["spec.ips: a headless Service has none"],
    );
    check::<mcs::v1beta1::ServiceImport>(
        "spec: {type: ClusterSetIP, ports: [], ips: [a, 10.0.0.1, 10.0.0.2]}",
        &["spec.ips[0]: \"a\" is not an IP address", "spec.ips: there may be two, one of each family"],
    );
}

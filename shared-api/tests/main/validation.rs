//! Which objects are valid: YAML in, the paths and problems of fields out.

use antrea_shared_api::mcs;
use antrea_shared_api::multicluster::{v1alpha1, v1alpha2};
use antrea_shared_api::validation::{FieldError, Validate};
use serde::de::DeserializeOwned;

use crate::{items, yaml};

fn read<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_value(yaml(text)).unwrap()
}

#[track_caller]
fn check_errors(errors: &[FieldError], expected: &[&str]) {
    assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
}

#[track_caller]
fn check<T: Validate + DeserializeOwned>(object: &str, expected: &[&str]) {
    check_errors(&read::<T>(object).validate(), expected);
}

#[track_caller]
fn check_update<T: Validate + DeserializeOwned>(old: &str, new: &str, expected: &[&str]) {
    check_errors(&read::<T>(new).validate_update(&read::<T>(old)), expected);
}

#[track_caller]
fn check_recorded<T: Validate + DeserializeOwned>(list: &str) {
    for item in items(&yaml(list)) {
        let object: T = serde_json::from_value(item.clone()).unwrap();
        check_errors(&object.validate(), &[]);
    }
}

const NOT_A_LABEL: &str = "is not a DNS label: lower-case letters, digits and '-', 63 characters at most, beginning \
                           and ending with a letter or digit";

#[test]
fn what_upstream_writes_is_valid() {
    check_recorded::<v1alpha2::ClusterSet>(include_str!("../golden/multicluster/clustersets.yaml"));
    check_recorded::<v1alpha1::MemberClusterAnnounce>(include_str!(
        "../golden/multicluster/memberclusterannounces.yaml"
    ));
    check_recorded::<v1alpha1::ResourceExport>(include_str!("../golden/multicluster/resourceexports.yaml"));
    check_recorded::<v1alpha1::ResourceImport>(include_str!("../golden/multicluster/resourceimports.yaml"));
    check_recorded::<v1alpha1::Gateway>(include_str!("../golden/multicluster/gateways.yaml"));
    check_recorded::<v1alpha1::ClusterInfoImport>(include_str!(
        "../golden/multicluster/clusterinfoimports.yaml"
    ));
    check_recorded::<v1alpha1::LabelIdentity>(include_str!("../golden/multicluster/labelidentities.yaml"));
    check_recorded::<mcs::v1alpha1::ServiceExport>(include_str!(
        "../golden/multicluster/serviceexports-v1alpha1.yaml"
    ));
    check_recorded::<mcs::v1alpha1::ServiceImport>(include_str!(
        "../golden/multicluster/serviceimports-v1alpha1.yaml"
    ));
}

#[test]
fn a_cluster_set_names_its_cluster_and_one_leader() {
    check::<v1alpha2::ClusterSet>(
        "spec: {}",
        &["spec.clusterID: is missing", "spec.leaders: there must be one, not 0"],
    );
    check::<v1alpha2::ClusterSet>(
        "spec: {clusterID: East, leaders: [{secret: A_B, server: 'http://hub'}], namespace: a.b}",
        &[
            &format!("spec.clusterID: \"East\" {NOT_A_LABEL}"),
            "spec.leaders[0].clusterID: is missing",
            "spec.leaders[0].secret: \"A_B\" is not a DNS subdomain: DNS labels joined by '.', 253 characters at most",
            "spec.leaders[0].server: \"http://hub\" is not the URL of an API server, as https://192.0.2.1:6443",
            &format!("spec.namespace: \"a.b\" {NOT_A_LABEL}"),
        ],
    );
}

#[test]
fn the_clusters_of_a_cluster_set_never_change() {
    check_update::<v1alpha2::ClusterSet>(
        "spec: {clusterID: east, leaders: [{clusterID: hub}]}",
        "spec: {clusterID: west, leaders: [{clusterID: nub, secret: new}]}",
        &["spec.clusterID: cannot be changed", "spec.leaders[0].clusterID: cannot be changed"],
    );
    check_update::<v1alpha2::ClusterSet>(
        "spec: {leaders: [{clusterID: hub}]}",
        "spec: {clusterID: east, leaders: [{clusterID: hub, secret: new}]}",
        &[],
    );
}

#[test]
fn an_older_cluster_set_needs_no_id() {
    check::<v1alpha1::ClusterSet>("spec: {members: [{clusterID: east}], leaders: [{clusterID: hub}]}", &[]);
    check::<v1alpha1::ClusterSet>(
        "spec: {members: [{}], leaders: [{clusterID: hub, serviceAccount: a_b}]}",
        &[
            "spec.members[0].clusterID: is missing",
            "spec.leaders[0].serviceAccount: \"a_b\" is not a DNS subdomain: DNS labels joined by '.', 253 characters at most",
        ],
    );
}

#[test]
fn a_claim_has_one_of_two_names() {
    check::<v1alpha2::ClusterClaim>("{metadata: {name: id.k8s.io}, value: east}", &[]);
    check::<v1alpha2::ClusterClaim>("{metadata: {name: id.k8s.io}}", &["value: is missing"]);
    check::<v1alpha2::ClusterClaim>("{metadata: {name: clusterset.k8s.io}, value: set.example.org}", &[]);
    check::<v1alpha2::ClusterClaim>(
        "{metadata: {name: id}, value: east}",
        &["metadata.name: \"id\" is none of id.k8s.io, clusterset.k8s.io"],
    );
}

#[test]
fn an_announce_says_who_and_where() {
    check::<v1alpha1::MemberClusterAnnounce>(
        "{metadata: {name: east}, clusterID: east, clusterSetID: set, serviceCIDRs: [10.96.0.0/12, 10.96.0.0], \
         podCIDRs: [fd00::/129], endpointIPType: NodeIP}",
        &[
            "metadata.name: must be \"member-announce-from-east\"",
            "leaderClusterID: is missing",
            "serviceCIDRs[1]: \"10.96.0.0\" is not a CIDR, as 10.96.0.0/12",
            "podCIDRs[0]: \"fd00::/129\" is not a CIDR, as 10.96.0.0/12",
            "endpointIPType: \"NodeIP\" is none of ClusterIP, PodIP",
        ],
    );
}

#[test]
fn an_announce_never_changes_its_ids() {
    let old =
        "{metadata: {name: member-announce-from-a}, clusterID: a, clusterSetID: set, leaderClusterID: hub}";
    check_update::<v1alpha1::MemberClusterAnnounce>(
        old,
        "{metadata: {name: member-announce-from-a, annotations: {touch-ts: now}}, clusterID: a, clusterSetID: set, leaderClusterID: hub}",
        &[],
    );
    check_update::<v1alpha1::MemberClusterAnnounce>(
        old,
        "{metadata: {name: member-announce-from-a}, clusterID: a, clusterSetID: other, leaderClusterID: hub}",
        &["clusterSetID: cannot be changed"],
    );
}

#[test]
fn an_export_carries_what_its_kind_says() {
    check::<v1alpha1::ResourceExport>(
        "spec: {clusterID: east, name: web, namespace: shop, kind: Service, endpoints: {}}",
        &[
            "spec.service: is missing: the kind is Service",
            "spec.endpoints: does not belong to the kind Service",
        ],
    );
    check::<v1alpha1::ResourceExport>(
        "spec: {clusterID: east, kind: Pod}",
        &[
            "spec.kind: \"Pod\" is none of Service, Endpoints, ClusterInfo, AntreaClusterNetworkPolicy, LabelIdentity, ExternalEntity",
        ],
    );
    check::<v1alpha1::ResourceExport>("spec: {clusterID: east, kind: Pod, raw: {data: YQ==}}", &[]);
    check::<v1alpha1::ResourceExport>(
        "spec: {kind: AntreaClusterNetworkPolicy, name: strict, clusterNetworkPolicy: {priority: 1}}",
        &[],
    );
}

#[test]
fn an_exported_service_has_a_cluster_a_namespace_and_a_name() {
    check::<v1alpha1::ResourceExport>(
        "spec: {name: a.b, kind: Service, service: {serviceSpec: {}}}",
        &[
            "spec.clusterID: is missing",
            &format!("spec.name: \"a.b\" {NOT_A_LABEL}"),
            &format!("spec.namespace: \"\" {NOT_A_LABEL}"),
        ],
    );
}

#[test]
fn ports_are_told_apart_by_their_names() {
    let service = |ports: &str| {
        format!(
            "spec: {{clusterID: a, name: b, namespace: c, kind: Service, service: {{serviceSpec: {{ports: {ports}}}}}}}"
        )
    };
    check::<v1alpha1::ResourceExport>(&service("[{port: 80}]"), &[]);
    check::<v1alpha1::ResourceExport>(
        &service("[{port: 80}, {port: 81, name: a}]"),
        &["spec.service.serviceSpec.ports[0].name: is missing: only a single port needs none"],
    );
    check::<v1alpha1::ResourceExport>(
        &service("[{port: 0, name: a, protocol: ICMP}, {port: 65536, name: a}]"),
        &[
            "spec.service.serviceSpec.ports[0].protocol: \"ICMP\" is none of TCP, UDP, SCTP",
            "spec.service.serviceSpec.ports[0].port: 0 is not from 1 to 65535",
            "spec.service.serviceSpec.ports[1].port: 65536 is not from 1 to 65535",
            "spec.service.serviceSpec.ports[1].name: \"a\" is the name of another port, too",
        ],
    );
}

#[test]
fn properties_of_an_exported_service_have_known_values() {
    check::<v1alpha1::ResourceExport>(
        "spec: {clusterID: a, name: b, namespace: c, kind: Service, service: {origin: {type: ExternalName, \
         labels: {a/b/c: x, d: '-'}, annotations: {'': x}}, serviceSpec: {sessionAffinity: Node, \
         internalTrafficPolicy: Global, ipFamilies: [IPv4, IPv5], trafficDistribution: Whatever}}}",
        &[
            "spec.service.serviceSpec.sessionAffinity: \"Node\" is none of None, ClientIP",
            "spec.service.serviceSpec.ipFamilies[1]: \"IPv5\" is none of IPv4, IPv6",
            "spec.service.serviceSpec.internalTrafficPolicy: \"Global\" is none of Cluster, Local",
            "spec.service.origin.type: \"ExternalName\" is none of ClusterSetIP, Headless",
            "spec.service.origin.labels: \"a/b/c\" is not a qualified name, as app or example.org/app",
            "spec.service.origin.labels[d]: \"-\" is not the value of a label: letters, digits, '-', '_' and '.', 63 characters at most, beginning and ending with a letter or digit",
            "spec.service.origin.annotations: \"\" is not a qualified name, as app or example.org/app",
        ],
    );
}

#[test]
fn exported_endpoints_can_be_reached() {
    check::<v1alpha1::ResourceExport>(
        "spec: {clusterID: a, name: b, namespace: c, kind: Endpoints, endpoints: {subsets: \
         [{addresses: [{ip: 10.0.0.1}, {ip: 127.0.0.1}, {ip: x}], notReadyAddresses: [{ip: 10.0.0.2, hostname: B}], ports: [{port: 80}]}]}}",
        &[
            "spec.endpoints.subsets[0].addresses[1].ip: \"127.0.0.1\" cannot be an endpoint: it is a loopback address",
            "spec.endpoints.subsets[0].addresses[2].ip: \"x\" is not an IP address",
            &format!("spec.endpoints.subsets[0].notReadyAddresses[0].hostname: \"B\" {NOT_A_LABEL}"),
        ],
    );
}

#[test]
fn slices_have_addresses_of_their_family() {
    let slice = |slice: &str| {
        format!(
            "spec: {{clusterID: a, name: b, namespace: c, kind: Endpoints, endpoints: {{endpointSlices: [{slice}]}}}}"
        )
    };
    check::<v1alpha1::ResourceExport>(
        &slice(
            "{addressType: IPv4, endpoints: [{addresses: [10.0.0.1], hostname: web-0, conditions: {ready: false}}]}",
        ),
        &[],
    );
    check::<v1alpha1::ResourceExport>(
        &slice("{addressType: IPv4, endpoints: [{addresses: ['fd00::1']}, {addresses: []}]}"),
        &[
            "spec.endpoints.endpointSlices[0].endpoints[0].addresses[0]: \"fd00::1\" is not of the addressType IPv4",
            "spec.endpoints.endpointSlices[0].endpoints[1].addresses: is missing",
        ],
    );
    check::<v1alpha1::ResourceExport>(
        &slice("{addressType: FQDN}"),
        &["spec.endpoints.endpointSlices[0].addressType: \"FQDN\" is none of IPv4, IPv6"],
    );
}

#[test]
fn a_cluster_tells_of_itself() {
    check::<v1alpha1::ResourceExport>(
        "spec: {clusterID: east, kind: ClusterInfo, clusterInfo: {clusterID: west, serviceCIDR: x, \
         gatewayInfos: [{}, {gatewayIP: 192.0.2.1}], podCIDRs: [1.2.3.4], wireGuard: {publicKey: short}}}",
        &[
            "spec.clusterInfo.serviceCIDR: \"x\" is not a CIDR, as 10.96.0.0/12",
            "spec.clusterInfo.gatewayInfos[0].gatewayIP: \"\" is not an IP address",
            "spec.clusterInfo.podCIDRs[0]: \"1.2.3.4\" is not a CIDR, as 10.96.0.0/12",
            "spec.clusterInfo.wireGuard.publicKey: \"short\" is not a WireGuard key: 32 bytes in base64, 44 characters",
            "spec.clusterInfo.clusterID: must be \"east\", as spec.clusterID",
        ],
    );
}

#[test]
fn labels_are_normalized() {
    check::<v1alpha1::ResourceExport>(
        "spec: {clusterID: east, kind: LabelIdentity, labelIdentity: {normalizedLabel: 'ns:b=1,a=1&pod:'}}",
        &[
            "spec.labelIdentity.normalizedLabel: \"ns:b=1,a=1&pod:\" is not of the form \"ns:KEY=VALUE,...&pod:KEY=VALUE,...\" with sorted keys",
        ],
    );
}

#[test]
fn an_export_stays_what_it_is() {
    let old = "spec: {clusterID: a, name: b, namespace: c, kind: Service, service: {}}";
    check_update::<v1alpha1::ResourceExport>(
        old,
        "spec: {clusterID: k, name: l, namespace: m, kind: Endpoints, endpoints: {}}",
        &[
            "spec.clusterID: cannot be changed",
            "spec.kind: cannot be changed",
            "spec.name: cannot be changed",
            "spec.namespace: cannot be changed",
        ],
    );
    check_update::<v1alpha1::ResourceExport>(
        "spec: {clusterID: a, kind: ClusterInfo, namespace: kube-system, clusterInfo: {clusterID: a}}",
        "spec: {clusterID: a, kind: ClusterInfo, namespace: antrea-mc, clusterInfo: {clusterID: a}}",
        &[],
    );
}

#[test]
fn what_was_wrong_before_does_not_keep_an_object_from_being_deleted() {
    check_update::<v1alpha1::ResourceExport>(
        "{metadata: {finalizers: [f]}, spec: {clusterID: a, kind: Service}}",
        "{metadata: {}, spec: {clusterID: a, kind: Service}}",
        &[],
    );
}

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
            "gatewayIP: \"\" is not an IP address",
            "internalIP: \"169.254.0.1\" cannot be an endpoint: it is a link-local address",
            "serviceCIDR: \"10.96.0.0/33\" is not a CIDR, as 10.96.0.0/12",
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

//! What members export.

use antrea_shared_api::multicluster::v1alpha1;

use super::{NOT_A_LABEL, check, check_update};

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
            "spec.namespace: is missing",
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
fn an_exported_service_is_one_that_importers_can_have() {
    let service = |distribution: &str, seconds: i32, protocol: &str| {
        format!(
            "spec: {{clusterID: a, name: b, namespace: c, kind: Service, service: {{serviceSpec: {{trafficDistribution: \
             '{distribution}', sessionAffinity: ClientIP, sessionAffinityConfig: {{clientIP: {{timeoutSeconds: \
             {seconds}}}}}, ports: [{{port: 80, appProtocol: '{protocol}'}}]}}}}}}"
        )
    };
    for (distribution, seconds, protocol) in
        [("", 1, ""), ("PreferClose", 86_400, "http"), ("PreferSameNode", 10, "kubernetes.io/h2c")]
    {
        check::<v1alpha1::ResourceExport>(&service(distribution, seconds, protocol), &[]);
    }
    let odd = service("preferclose", 86_401, "http/2/3");
    check::<v1alpha1::ResourceExport>(
        &odd,
        &[
            "spec.service.serviceSpec.ports[0].appProtocol: \"http/2/3\" is not a qualified name, as app or example.org/app",
            "spec.service.serviceSpec.trafficDistribution: \"preferclose\" is none of PreferClose, PreferSameZone, PreferSameNode",
            "spec.service.serviceSpec.sessionAffinityConfig.clientIP.timeoutSeconds: 86401 is not from 1 to 86400",
        ],
    );
    check_update::<v1alpha1::ResourceExport>(&odd, &odd, &[]);
    check::<v1alpha1::ResourceExport>(
        "spec: {clusterID: a, name: b, namespace: c, kind: Endpoints, endpoints: {subsets: [{ports: [{port: 80, \
         appProtocol: a b}]}], endpointSlices: [{addressType: IPv4, ports: [{port: 80, appProtocol: a b}]}]}}",
        &[
            "spec.endpoints.subsets[0].ports[0].appProtocol: \"a b\" is not a qualified name, as app or example.org/app",
            "spec.endpoints.endpointSlices[0].ports[0].appProtocol: \"a b\" is not a qualified name, as app or example.org/app",
        ],
    );
}

#[test]
fn annotations_for_importers_are_few() {
    let export = |bytes: usize| {
        format!(
            "spec: {{clusterID: a, name: b, namespace: c, kind: Service, service: {{serviceSpec: {{}}, origin: {{type: \
             Headless, annotations: {{key: {}}}}}}}}}",
            "x".repeat(bytes - "key".len())
        )
    };
    check::<v1alpha1::ResourceExport>(&export(65_536), &[]);
    check::<v1alpha1::ResourceExport>(
        &export(65_537),
        &["spec.service.origin.annotations: have more than 65536 bytes"],
    );
}

#[test]
fn labels_for_importers_are_few() {
    let key = |number: usize| format!("{}/{number:04}", "a".repeat(59));
    let check_them = |labels: usize, note: usize, expected: &[&str]| {
        let labels: Vec<String> = (0..labels).map(|number| format!("{}: ''", key(number))).collect();
        let export = format!(
            "spec: {{clusterID: a, name: b, namespace: c, kind: Service, service: {{serviceSpec: {{}}, origin: {{type: \
             Headless, labels: {{{}}}, annotations: {{note: {}}}}}}}}}",
            labels.join(", "),
            "x".repeat(note - "note".len())
        );
        check::<v1alpha1::ResourceExport>(&export, expected);
    };
    let too_many = "spec.service.origin.labels: have more than 65536 bytes together with the annotations";
    check_them(1000, 1536, &[]);
    check_them(1000, 1537, &[too_many]);
    check_them(1, 65_537, &["spec.service.origin.annotations: have more than 65536 bytes"]);
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
            "spec.service.serviceSpec.trafficDistribution: \"Whatever\" is none of PreferClose, PreferSameZone, PreferSameNode",
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
            "spec.endpoints.subsets[0].addresses[1].ip: \"127.0.0.1\" cannot be reached by other hosts, as no loopback address can",
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
         gatewayInfos: [{}, {gatewayIP: 192.0.2.1}], podCIDRs: [1.2.3.4], tunnel: {type: stt, port: 65536}, \
         wireGuard: {publicKey: short}}}",
        &[
            "spec.clusterInfo.serviceCIDR: \"x\" is not a CIDR, as 10.96.0.0/12",
            "spec.clusterInfo.gatewayInfos[0].gatewayIP: is missing",
            "spec.clusterInfo.podCIDRs[0]: \"1.2.3.4\" is not a CIDR, as 10.96.0.0/12",
            "spec.clusterInfo.tunnel.type: \"stt\" is none of geneve, vxlan, gre",
            "spec.clusterInfo.tunnel.port: 65536 is not from 0 to 65535",
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

//! Files in, what the controller acts on out, or what is wrong with them.

use super::*;

/// What a file is refused for, without the name of the file.
#[track_caller]
fn refused(text: &str, expected: &str) {
    let error = Config::parse("mc.yaml", text).map(|_| ()).unwrap_err().to_string();
    assert_eq!(error.replace("mc.yaml:", ""), expected);
}

fn config(text: &str) -> Config {
    Config::parse("mc.yaml", text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_file_that_says_nothing_has_upstreams_defaults() {
    let nothing = config("");
    assert_eq!(
        nothing,
        config("apiVersion: multicluster.crd.antrea.io/v1alpha1\nkind: MultiClusterConfig\n")
    );
    assert_eq!(nothing.health, Listen::Everywhere(8080));
    assert_eq!(nothing.metrics, Listen::Off);
    assert_eq!(nothing.webhook, Webhook { port: 9443, host: None });
    assert_eq!(nothing.election, Election::InPods);
    let (times, limits) = (LeaseTimes::default(), Limits::default());
    let leader = Leader { namespaces: Vec::new(), times, limits, token_lifetime: WEEK };
    assert_eq!(nothing.leader, leader);
    let Member { service_cidrs, pod_cidrs, precedence, addresses, label_identities, .. } = nothing.member;
    assert_eq!((service_cidrs, pod_cidrs), (None, PodCidrs::Named(Vec::new())));
    assert_eq!(precedence, NodeIpKind::Internal);
    assert_eq!(addresses, EndpointAddresses::ClusterIps);
    assert_eq!(label_identities, LabelIdentities::Kept);
}

/// As upstream's manifest has it.
const UPSTREAM: &str = "
apiVersion: multicluster.crd.antrea.io/v1alpha1
kind: MultiClusterConfig
health:
  healthProbeBindAddress: :8080
metrics:
  bindAddress: \"0\"
webhook:
  port: 9443
podCIDRs:
  - \"\"
gatewayIPPrecedence: private
endpointIPType: ClusterIP
enableStretchedNetworkPolicy: false
";

#[test]
fn upstreams_file_is_the_default() {
    assert_eq!(config(UPSTREAM), config(""));
}

#[test]
fn every_key_is_heeded() {
    let all = config(
        "
health: {healthProbeBindAddress: '127.0.0.1:8081'}
metrics: {bindAddress: ':8082'}
webhook: {port: 9444, host: '::1'}
serviceCIDR: 10.96.0.0/12, fd00:10:96::/108
podCIDRs: [10.10.0.0/16, 10.20.0.7/16]
gatewayIPPrecedence: public
endpointIPType: podip
enableStretchedNetworkPolicy: true
leader:
  {namespaces: [b, a, b], memberLease: 10m, memberSilence: 1m30s, memberTokenLifetime: 48h,
   memberLimits: {exports: 3, labelIdentities: 4, bytes: 2Gi, objectBytes: '5000', endpointPorts: 5}}
leaderElection: {leaderElect: false}
member: {namespace: antrea-mc, agentNamespace: antrea, tokenSecret: tok5, tokenLifetime: 24h, excludedNamespaces: [b, a, b]}
",
    );
    assert_eq!(all.health, Listen::At("127.0.0.1:8081".parse().unwrap()));
    assert_eq!(all.metrics, Listen::Everywhere(8082));
    let webhook = Webhook { port: 9444, host: Some("::1".parse().unwrap()) };
    assert_eq!(all.webhook, webhook);
    assert_eq!(all.election, Election::Never);
    let times = LeaseTimes { silent_after: Duration::from_secs(90), lease: Duration::from_secs(600) };
    let limits =
        Limits { exports: 3, label_identities: 4, bytes: 2 << 30, object_bytes: 5000, endpoint_ports: 5 };
    let namespaces = vec!["a".to_owned(), "b".to_owned()];
    let token_lifetime = Duration::from_secs(48 * 3600);
    assert_eq!(all.leader, Leader { namespaces, times, limits, token_lifetime });
    let networks = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<IpNet>>();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    let member = Member {
        namespace: Some("antrea-mc".to_owned()),
        agent_namespace: "antrea".to_owned(),
        token_secret: Some("tok5".to_owned()),
        token_lifetime: Duration::from_secs(24 * 3600),
        excluded_namespaces: names(&["a", "b"]),
        service_cidrs: Some(networks(&["10.96.0.0/12", "fd00:10:96::/108"])),
        pod_cidrs: PodCidrs::Named(networks(&["10.10.0.0/16", "10.20.0.0/16"])),
        precedence: NodeIpKind::External,
        addresses: EndpointAddresses::PodIps,
        label_identities: LabelIdentities::Exported,
    };
    assert_eq!(all.member, member);
    for nodes in ["auto", "[auto]", "'auto'"] {
        assert_eq!(config(&format!("podCIDRs: {nodes}")).member.pod_cidrs, PodCidrs::OfNodes, "{nodes}");
    }
    let keys = Config::keys();
    assert_eq!(keys.len(), 27, "a key was added: set it above, too: {keys:?}");
}

#[test]
fn namespaces_of_the_cluster_itself_are_excluded_unless_the_file_says_which_are() {
    let excluded = |text: &str| config(text).member.excluded_namespaces.into_iter().collect::<Vec<_>>();
    assert_eq!(excluded(""), ["kube-node-lease", "kube-public", "kube-system"]);
    assert_eq!(excluded("member: {excludedNamespaces: [prod]}"), ["prod"]);
    assert_eq!(excluded("member: {excludedNamespaces: []}"), [""; 0]);
    refused(
        "member: {excludedNamespaces: [Prod]}\n",
        "1:31: member.excludedNamespaces[0] \"Prod\": the name of a Namespace is wanted: lower-case letters, digits and '-', \
         63 characters at most",
    );
}

#[test]
fn keys_that_are_not_there_are_told_with_the_nearest() {
    refused(
        "leader:\n  memberlease: 5m\n",
        "2:3: memberlease: there is no such key, did you mean memberLease? Allowed here: namespaces, memberLease, \
         memberSilence, memberTokenLifetime, memberLimits",
    );
    refused(
        "leaderElection:\n  resourceName: a\n",
        "2:3: resourceName: there is no such key. Allowed here: leaderElect",
    );
}

#[test]
fn bad_values_are_told_with_what_is_allowed() {
    refused("kind: Deployment\n", "1:7: kind \"Deployment\": allowed are MultiClusterConfig");
    refused("apiVersion: v1\n", "1:13: apiVersion \"v1\": allowed are multicluster.crd.antrea.io/v1alpha1");
    refused("endpointIPType: NodeIP\n", "1:17: endpointIPType \"NodeIP\": allowed are ClusterIP, PodIP");
    refused(
        "gatewayIPPrecedence: any\n",
        "1:22: gatewayIPPrecedence \"any\": allowed are private, internal, public, external",
    );
    refused(
        "enableStretchedNetworkPolicy: perhaps\n",
        "1:31: enableStretchedNetworkPolicy: true or false is wanted here",
    );
    refused(
        "member:\n  tokenLifetime: 5m\n",
        "2:18: member.tokenLifetime \"5m\": a time of 10m or more is wanted, as in 24h or 168h: API servers grant no shorter \
         ones",
    );
    refused(
        "member: {tokenSecret: a_b}\n",
        "1:23: member.tokenSecret \"a_b\": the name of a Secret is wanted: lower-case letters, digits, '-' and '.', 253 \
         characters at most",
    );
    refused(
        "leader: {memberSilence: 0s}\n",
        "1:25: leader.memberSilence \"0s\": a time of 1s or more is wanted, as in 90s, 5m or 168h",
    );
    refused(
        "webhook: {certDir: /certs}\n",
        "1:20: webhook.certDir \"/certs\": certificates of one's own are not available yet; leave the key out, or set it to \"\"",
    );
    refused(
        "webhook: {port: 70000}\n",
        "1:17: webhook.port 70000: allowed are 1 to 65535, and 0 for the default",
    );
    refused(
        "webhook: {host: localhost}\n",
        "1:17: webhook.host \"localhost\": an IP address of this machine is wanted, or nothing for all of them",
    );
}

#[test]
fn bad_networks_and_addresses_are_told_item_by_item() {
    refused(
        "podCIDRs:\n- 10.10.0.0/16\n- 10.10.0.0\n- ten\n",
        "3:3: podCIDRs[1] \"10.10.0.0\": a CIDR is wanted, as 10.10.0.0/16\n\
         4:3: podCIDRs[2] \"ten\": a CIDR is wanted, as 10.10.0.0/16",
    );
    for (text, shown) in [("Auto", "\"Auto\""), ("10.10.0.0/16", "\"10.10.0.0/16\"")] {
        let wanted = "auto or a list of CIDRs is wanted, as [10.10.0.0/16]";
        refused(&format!("podCIDRs: {text}\n"), &format!("1:11: podCIDRs {shown}: {wanted}"));
    }
    refused(
        "podCIDRs: [auto, 10.0.0.0/16]\n",
        "1:12: podCIDRs[0] \"auto\": it is the only value where it is given: the networks are those that Nodes have",
    );
    let many: Vec<String> = (0..65).map(|number| format!("10.{number}.0.0/16")).collect();
    let many = many.join(",");
    refused(
        &format!("podCIDRs: [{many}]\n"),
        &format!(
            "1:{}: podCIDRs[64] \"10.64.0.0/16\": 64 networks are named at most: name one around several",
            12 + many.len() - "10.64.0.0/16".len()
        ),
    );
    let one_a_family = "a CIDR is wanted, as 10.96.0.0/12, or one of each IP family, separated by a comma";
    for cidr in ["10.96.0.0", "10.96.0.0/12,10.97.0.0/16", "10.96.0.0/12,fd00::/108,10.0.0.0/8"] {
        refused(&format!("serviceCIDR: {cidr}\n"), &format!("1:14: serviceCIDR \"{cidr}\": {one_a_family}"));
    }
    let wanted = "a port as in :8080, an IP address and a port as in 127.0.0.1:8080 or [::1]:8080, or 0 for none is wanted";
    for address in ["8080", ":0", ":70000", "localhost:8080", "127.0.0.1:0", "::1:8080x"] {
        refused(
            &format!("health: {{healthProbeBindAddress: '{address}'}}\n"),
            &format!("1:34: health.healthProbeBindAddress \"{address}\": {wanted}"),
        );
    }
    refused(
        "leader: {namespaces: [area, 'Area 2']}\n",
        "1:29: leader.namespaces[1] \"Area 2\": the name of a Namespace is wanted: lower-case letters, digits and '-', 63 \
         characters at most",
    );
}

#[test]
fn endpoints_of_a_member_are_not_withdrawn_before_it_is_called_silent() {
    refused(
        "leader: {memberLease: 10s}\n",
        "1:23: leader.memberLease \"10s\": must be as long as leader.memberSilence at least, 30s",
    );
    refused(
        "leader: {memberSilence: 10m}\n",
        "1:25: leader.memberSilence \"10m\": must be as long as leader.memberLease at most, 300s",
    );
}

#[test]
fn limits_of_members_are_numbers_and_sizes() {
    for number in ["0", "-1"] {
        refused(
            &format!("leader: {{memberLimits: {{exports: {number}}}}}\n"),
            &format!("1:34: leader.memberLimits.exports {number}: a number of 1 or more is wanted"),
        );
    }
    for size in ["64MB", "1023", "0Ki", "-1Mi", "99999999999Gi"] {
        refused(
            &format!("leader: {{memberLimits: {{bytes: '{size}'}}}}\n"),
            &format!(
                "1:32: leader.memberLimits.bytes \"{size}\": a size of 1Ki or more is wanted, as in 512Ki, 64Mi or 1Gi"
            ),
        );
    }
}

//! The rules of a Node against the record of upstream's, and in the other configurations.

use antrea_hostplan::iptables::{SavedRuleset, SourcePorts, restore_text};
use antrea_hostplan::{
    ExternalMasquerade, HostConfig, HostPlan, IpSet, ServiceTraffic, host_rules, ip_set_changes,
    parse_ip_set_save,
};
use antrea_types::{DualStack, TunnelTraffic};
use ipnet::IpNet;

const IPTABLES_SAVE: &str = include_str!("golden/iptables-save.txt");
const IPSET_SAVE: &str = include_str!("golden/ipset-save.txt");

pub(crate) fn recorded_node() -> HostConfig {
    HostConfig {
        gateway: "antrea-gw0".parse().unwrap(),
        own_pod_cidrs: ["10.11.0.0/24".parse().unwrap()].into_iter().collect(),
        pod_cidrs: vec!["10.11.0.0/24".parse().unwrap(), "10.11.1.0/24".parse().unwrap()],
        tunnel: Some(TunnelTraffic::Udp(6081)),
        far_ends: ["172.18.2.12", "fd00:18::12"].map(|text| text.parse().unwrap()).into(),
        agent_api_port: 10350,
        membership_port: Some(10351),
        external_masquerade: ExternalMasquerade::On(SourcePorts::Kept),
        services: ServiceTraffic::ByHost,
    }
}

pub(crate) fn ipv6_node() -> HostConfig {
    HostConfig {
        own_pod_cidrs: ["fd00:11::/64".parse().unwrap()].into_iter().collect(),
        pod_cidrs: vec!["fd00:11::/64".parse().unwrap(), "fd00:11:0:1::/64".parse().unwrap()],
        membership_port: None,
        ..recorded_node()
    }
}

/// Upstream's rules, and those that it has not: it takes packets that the Node sends to a Service for somebody else's, and lets
/// anybody send to tunnels.
pub(crate) fn with_our_own(record: &str) -> SavedRuleset {
    let ours = ":ANTREA-INPUT - [0:0]\n:ANTREA-FORWARD - [0:0]\n:ANTREA-POSTROUTING - [0:0]\n\
        -A INPUT -m comment --comment \"Antrea: jump to Antrea input rules\" -j ANTREA-INPUT\n\
        -A FORWARD -m comment --comment \"Antrea: jump to Antrea forwarding rules\" -j ANTREA-FORWARD\n\
        -A ANTREA-INPUT -i antrea-gw0 -p udp -m comment --comment \"Antrea: drop encapsulation packets from Pods\" \
        -m udp --dport 6081 -j DROP\n\
        -A ANTREA-INPUT -p udp -m comment --comment \"Antrea: drop encapsulation packets to Services\" \
        -m udp --dport 6081 -m conntrack --ctstate DNAT -j DROP\n\
        -A ANTREA-FORWARD -i antrea-gw0 ! -o antrea-gw0 -p udp -m comment --comment \
        \"Antrea: drop encapsulation packets from Pods\" -m udp --dport 6081 -j DROP\n\
        -A ANTREA-FORWARD ! -o antrea-gw0 -p udp -m comment --comment \
        \"Antrea: drop encapsulation packets to Services\" -m udp --dport 6081 -m conntrack --ctstate DNAT -j DROP\n\
        -A POSTROUTING -m comment --comment \"Antrea: jump to Antrea postrouting rules\" -j ANTREA-POSTROUTING\n\
        -A ANTREA-POSTROUTING -o antrea-gw0 -m comment --comment \"Antrea: mark LOCAL packets to Services\" \
        -m addrtype --src-type LOCAL -m owner --socket-exists -j MARK --set-xmark 0x80000000/0x80000000\n";
    let (before, mangle) = record.split_once("*mangle\n").unwrap();
    let (chains, after) = mangle.split_once("COMMIT\n").unwrap();
    let opens = "-A ANTREA-INPUT -p udp -m comment --comment \"Antrea: allow tunnel input packets\"";
    let strangers = "-A ANTREA-INPUT -p udp -m comment --comment \"Antrea: drop tunnel input packets from unknown peers\" \
        -m udp --dport 6081 -m set ! --match-set ANTREA-TUNNEL-IP src -j DROP\n";
    let after = after.replace(opens, &format!("{strangers}{opens}"));
    SavedRuleset::parse(&format!("{before}*mangle\n{chains}{ours}COMMIT\n{after}"))
}

/// The lines that bring the recorded Node to what `config` wants.
fn changes_to_the_record(config: &HostConfig) -> String {
    let rules = host_rules(config).rulesets.v4.unwrap();
    restore_text(&rules, &with_our_own(IPTABLES_SAVE)).unwrap_or_default()
}

#[test]
fn with_membership_the_rules_are_those_of_upstream() {
    assert_eq!(changes_to_the_record(&recorded_node()), "");
}

/// Those of the ends of tunnels, and the others, which upstream has as well.
pub(crate) fn ip_sets_of_tunnels_and_others(plan: HostPlan) -> [Vec<IpSet>; 2] {
    let (of_tunnels, others) =
        plan.ip_sets.into_iter().partition(|set| set.name.starts_with("ANTREA-TUNNEL-IP"));
    [of_tunnels, others]
}

#[test]
fn ip_sets_are_those_of_upstream_and_two_of_far_ends() {
    let [far_ends, sets] = ip_sets_of_tunnels_and_others(host_rules(&recorded_node()));
    assert_eq!(ip_set_changes(&sets, &parse_ip_set_save(IPSET_SAVE)), None);
    insta::assert_snapshot!(far_ends.iter().map(ToString::to_string).collect::<String>(), @"
    create ANTREA-TUNNEL-IP hash:ip family inet
    add ANTREA-TUNNEL-IP 172.18.2.12
    create ANTREA-TUNNEL-IP6 hash:ip family inet6
    add ANTREA-TUNNEL-IP6 fd00:18::12
    ");
}

#[test]
fn a_tunnel_is_open_to_nobody_while_there_are_no_peers() {
    let config = HostConfig { far_ends: [].into(), ..recorded_node() };
    let plan = host_rules(&config).to_string();
    let place = |rule| plan.find(rule).unwrap_or_else(|| panic!("no {rule}: {plan}"));
    let strangers = place("-m set ! --match-set ANTREA-TUNNEL-IP src -j DROP");
    assert!(strangers < place("allow tunnel input packets"), "{plan}");
    assert!(!plan.contains("add ANTREA-TUNNEL"), "{plan}");
}

#[test]
fn without_a_tunnel_nothing_is_opened() {
    let config = HostConfig { tunnel: None, ..recorded_node() };
    let plan = host_rules(&config).to_string();
    assert!(
        !plan.contains("encapsulation") && !plan.contains("tunnel") && !plan.contains("TUNNEL"),
        "{plan}"
    );
}

#[test]
fn without_need_of_membership_its_rules_are_the_difference() {
    let config = HostConfig { membership_port: None, ..recorded_node() };
    insta::assert_snapshot!(changes_to_the_record(&config), @r#"
    *filter
    :ANTREA-FORWARD - [0:0]
    :ANTREA-INPUT - [0:0]
    :ANTREA-OUTPUT - [0:0]
    -A ANTREA-INPUT -p udp -m comment --comment "Antrea: drop tunnel input packets from unknown peers" -m udp --dport 6081 -m set ! --match-set ANTREA-TUNNEL-IP src -j DROP
    -A ANTREA-INPUT -p udp -m comment --comment "Antrea: allow tunnel input packets" -m udp --dport 6081 -j ACCEPT
    -A ANTREA-INPUT -p tcp -m comment --comment "Antrea: allow Agent APIServer input packets" -m tcp --dport 10350 -j ACCEPT
    -A ANTREA-FORWARD -i antrea-gw0 -m comment --comment "Antrea: accept packets from local Pods" -j ACCEPT
    -A ANTREA-FORWARD -o antrea-gw0 -m comment --comment "Antrea: accept packets to local Pods" -j ACCEPT
    -A ANTREA-OUTPUT -p udp -m comment --comment "Antrea: allow tunnel output packets" -m udp --dport 6081 -j ACCEPT
    -A ANTREA-OUTPUT -p tcp -m comment --comment "Antrea: allow Agent APIServer reply packets" -m tcp --sport 10350 -m conntrack --ctstate ESTABLISHED -j ACCEPT
    COMMIT
    "#);
}

#[test]
fn without_snat_pods_keep_their_address() {
    let config = HostConfig { external_masquerade: ExternalMasquerade::Off, ..recorded_node() };
    insta::assert_snapshot!(changes_to_the_record(&config), @r#"
    *nat
    :ANTREA-POSTROUTING - [0:0]
    -A ANTREA-POSTROUTING -o antrea-gw0 -m comment --comment "Antrea: masquerade LOCAL traffic" -m addrtype ! --src-type LOCAL --limit-iface-out -m addrtype --src-type LOCAL -j MASQUERADE --random-fully
    COMMIT
    "#);
}

#[test]
fn source_ports_are_random_on_request() {
    let config = HostConfig {
        external_masquerade: ExternalMasquerade::On(SourcePorts::RandomFully),
        ..recorded_node()
    };
    insta::assert_snapshot!(changes_to_the_record(&config), @r#"
    *nat
    :ANTREA-POSTROUTING - [0:0]
    -A ANTREA-POSTROUTING -s 10.11.0.0/24 ! -o antrea-gw0 -m comment --comment "Antrea: masquerade Pod to external packets" -m set ! --match-set ANTREA-POD-IP dst -j MASQUERADE --random-fully
    -A ANTREA-POSTROUTING -o antrea-gw0 -m comment --comment "Antrea: masquerade LOCAL traffic" -m addrtype ! --src-type LOCAL --limit-iface-out -m addrtype --src-type LOCAL -j MASQUERADE --random-fully
    COMMIT
    "#);
}

#[test]
fn gre_is_let_in_and_not_tracked_either() {
    let config = HostConfig { tunnel: Some(TunnelTraffic::Gre), membership_port: None, ..recorded_node() };
    insta::assert_snapshot!(changes_to_the_record(&config), @r#"
    *raw
    :ANTREA-OUTPUT - [0:0]
    :ANTREA-PREROUTING - [0:0]
    -A ANTREA-PREROUTING -p gre -m comment --comment "Antrea: do not track incoming encapsulation packets" -m addrtype --dst-type LOCAL -j NOTRACK
    -A ANTREA-OUTPUT -p gre -m comment --comment "Antrea: do not track outgoing encapsulation packets" -m addrtype --src-type LOCAL -j NOTRACK
    COMMIT
    *mangle
    :ANTREA-FORWARD - [0:0]
    :ANTREA-INPUT - [0:0]
    :ANTREA-OUTPUT - [0:0]
    :ANTREA-POSTROUTING - [0:0]
    :ANTREA-PREROUTING - [0:0]
    -A ANTREA-FORWARD -i antrea-gw0 ! -o antrea-gw0 -p gre -m comment --comment "Antrea: drop encapsulation packets from Pods" -j DROP
    -A ANTREA-FORWARD ! -o antrea-gw0 -p gre -m comment --comment "Antrea: drop encapsulation packets to Services" -m conntrack --ctstate DNAT -j DROP
    -A ANTREA-INPUT -i antrea-gw0 -p gre -m comment --comment "Antrea: drop encapsulation packets from Pods" -j DROP
    -A ANTREA-INPUT -p gre -m comment --comment "Antrea: drop encapsulation packets to Services" -m conntrack --ctstate DNAT -j DROP
    -A ANTREA-OUTPUT -o antrea-gw0 -m comment --comment "Antrea: mark LOCAL output packets" -m addrtype --src-type LOCAL -j MARK --set-xmark 0x80000000/0x80000000
    -A ANTREA-POSTROUTING -o antrea-gw0 -m comment --comment "Antrea: mark LOCAL packets to Services" -m addrtype --src-type LOCAL -m owner --socket-exists -j MARK --set-xmark 0x80000000/0x80000000
    COMMIT
    *filter
    :ANTREA-FORWARD - [0:0]
    :ANTREA-INPUT - [0:0]
    :ANTREA-OUTPUT - [0:0]
    -A ANTREA-INPUT -p gre -m comment --comment "Antrea: allow tunnel input packets" -m set --match-set ANTREA-TUNNEL-IP src -j ACCEPT
    -A ANTREA-INPUT -p tcp -m comment --comment "Antrea: allow Agent APIServer input packets" -m tcp --dport 10350 -j ACCEPT
    -A ANTREA-FORWARD -i antrea-gw0 -m comment --comment "Antrea: accept packets from local Pods" -j ACCEPT
    -A ANTREA-FORWARD -o antrea-gw0 -m comment --comment "Antrea: accept packets to local Pods" -j ACCEPT
    -A ANTREA-OUTPUT -p gre -m comment --comment "Antrea: allow tunnel output packets" -j ACCEPT
    -A ANTREA-OUTPUT -p tcp -m comment --comment "Antrea: allow Agent APIServer reply packets" -m tcp --sport 10350 -m conntrack --ctstate ESTABLISHED -j ACCEPT
    COMMIT
    "#);
}

#[test]
fn gre_has_no_rules_of_ipv6_and_vxlan_has_those_of_its_port() {
    let rules = |tunnel| host_rules(&HostConfig { tunnel: Some(tunnel), ..ipv6_node() });
    assert!(!rules(TunnelTraffic::Gre).rulesets.v6.unwrap().to_string().contains("gre"));
    let of_port = |port| rules(TunnelTraffic::Udp(port)).rulesets.v6.unwrap().to_string();
    let vxlan = of_port(4789);
    assert_eq!(vxlan, of_port(6081).replace("6081", "4789"));
    assert_eq!(vxlan.matches("--dport 4789").count(), 9);
}

#[test]
fn gre_that_carries_ipv6_pods_alone_is_let_in_over_ipv4() {
    let config = HostConfig { tunnel: Some(TunnelTraffic::Gre), ..ipv6_node() };
    let rules = host_rules(&config).rulesets.v4.unwrap().to_string();
    assert_eq!(rules.matches("-p gre").count(), 4, "tracking and filter, in and out: {rules}");
    assert_eq!(rules.matches("-m set --match-set ANTREA-TUNNEL-IP src -j ACCEPT").count(), 1, "{rules}");
    assert_eq!(rules.matches("ACCEPT").count(), 2, "nothing else is let in or out: {rules}");
}

/// The kernel takes tunnel packets of both families, whatever Pods have.
#[test]
fn tunnel_packets_of_strangers_are_dropped_also_over_a_family_that_is_not_used() {
    insta::assert_snapshot!(host_rules(&recorded_node()).tunnel_drops.v6.unwrap(), @r#"
    *mangle
    :ANTREA-INPUT - [0:0]
    -A INPUT -m comment --comment "Antrea: jump to Antrea input rules" -j ANTREA-INPUT
    -A ANTREA-INPUT -p udp -m comment --comment "Antrea: drop tunnel input packets from unknown peers" -m udp --dport 6081 -m set ! --match-set ANTREA-TUNNEL-IP6 src -j DROP
    COMMIT
    "#);
    let drop = |config| host_rules(&config).tunnel_drops;
    let of_ipv4 = drop(ipv6_node()).v4.unwrap().to_string();
    assert!(of_ipv4.contains("--dport 6081 -m set ! --match-set ANTREA-TUNNEL-IP src -j DROP"), "{of_ipv4}");
    for tunnel in [None, Some(TunnelTraffic::Gre)] {
        assert_eq!(drop(HostConfig { tunnel, ..recorded_node() }), DualStack::default(), "{tunnel:?}");
    }
    let own_pod_cidrs = ["10.11.0.0/24", "fd00:11::/64"].map(|text| text.parse::<IpNet>().unwrap());
    let own_pod_cidrs = own_pod_cidrs.into_iter().collect();
    assert_eq!(drop(HostConfig { own_pod_cidrs, ..recorded_node() }), DualStack::default());
}

#[test]
fn an_ipv6_node_has_the_same_rules_for_ipv6() {
    let plan = HostPlan { tunnel_drops: DualStack::default(), ..host_rules(&ipv6_node()) };
    insta::assert_snapshot!(plan, @r#"
    net.ipv6.conf.all.forwarding = 1
    create ANTREA-POD-IP hash:net family inet
    create ANTREA-POD-IP6 hash:net family inet6
    add ANTREA-POD-IP6 fd00:11::/64
    add ANTREA-POD-IP6 fd00:11:0:1::/64
    create ANTREA-TUNNEL-IP hash:ip family inet
    add ANTREA-TUNNEL-IP 172.18.2.12
    create ANTREA-TUNNEL-IP6 hash:ip family inet6
    add ANTREA-TUNNEL-IP6 fd00:18::12
    # IPv6
    *raw
    :ANTREA-PREROUTING - [0:0]
    :ANTREA-OUTPUT - [0:0]
    -A PREROUTING -m comment --comment "Antrea: jump to Antrea prerouting rules" -j ANTREA-PREROUTING
    -A OUTPUT -m comment --comment "Antrea: jump to Antrea output rules" -j ANTREA-OUTPUT
    -A ANTREA-PREROUTING -p udp -m comment --comment "Antrea: do not track incoming encapsulation packets" -m udp --dport 6081 -m addrtype --dst-type LOCAL -j NOTRACK
    -A ANTREA-OUTPUT -p udp -m comment --comment "Antrea: do not track outgoing encapsulation packets" -m udp --dport 6081 -m addrtype --src-type LOCAL -j NOTRACK
    COMMIT
    *mangle
    :ANTREA-PREROUTING - [0:0]
    :ANTREA-FORWARD - [0:0]
    :ANTREA-INPUT - [0:0]
    :ANTREA-OUTPUT - [0:0]
    :ANTREA-POSTROUTING - [0:0]
    -A PREROUTING -m comment --comment "Antrea: jump to Antrea prerouting rules" -j ANTREA-PREROUTING
    -A FORWARD -m comment --comment "Antrea: jump to Antrea forwarding rules" -j ANTREA-FORWARD
    -A INPUT -m comment --comment "Antrea: jump to Antrea input rules" -j ANTREA-INPUT
    -A OUTPUT -m comment --comment "Antrea: jump to Antrea output rules" -j ANTREA-OUTPUT
    -A POSTROUTING -m comment --comment "Antrea: jump to Antrea postrouting rules" -j ANTREA-POSTROUTING
    -A ANTREA-FORWARD -i antrea-gw0 ! -o antrea-gw0 -p udp -m comment --comment "Antrea: drop encapsulation packets from Pods" -m udp --dport 6081 -j DROP
    -A ANTREA-FORWARD ! -o antrea-gw0 -p udp -m comment --comment "Antrea: drop encapsulation packets to Services" -m udp --dport 6081 -m conntrack --ctstate DNAT -j DROP
    -A ANTREA-INPUT -i antrea-gw0 -p udp -m comment --comment "Antrea: drop encapsulation packets from Pods" -m udp --dport 6081 -j DROP
    -A ANTREA-INPUT -p udp -m comment --comment "Antrea: drop encapsulation packets to Services" -m udp --dport 6081 -m conntrack --ctstate DNAT -j DROP
    -A ANTREA-OUTPUT -o antrea-gw0 -m comment --comment "Antrea: mark LOCAL output packets" -m addrtype --src-type LOCAL -j MARK --set-xmark 0x80000000/0x80000000
    -A ANTREA-POSTROUTING -o antrea-gw0 -m comment --comment "Antrea: mark LOCAL packets to Services" -m addrtype --src-type LOCAL -m owner --socket-exists -j MARK --set-xmark 0x80000000/0x80000000
    COMMIT
    *nat
    :ANTREA-POSTROUTING - [0:0]
    -A POSTROUTING -m comment --comment "Antrea: jump to Antrea postrouting rules" -j ANTREA-POSTROUTING
    -A ANTREA-POSTROUTING -s fd00:11::/64 ! -o antrea-gw0 -m comment --comment "Antrea: masquerade Pod to external packets" -m set ! --match-set ANTREA-POD-IP6 dst -j MASQUERADE
    -A ANTREA-POSTROUTING -o antrea-gw0 -m comment --comment "Antrea: masquerade LOCAL traffic" -m addrtype ! --src-type LOCAL --limit-iface-out -m addrtype --src-type LOCAL -j MASQUERADE --random-fully
    COMMIT
    *filter
    :ANTREA-INPUT - [0:0]
    :ANTREA-FORWARD - [0:0]
    :ANTREA-OUTPUT - [0:0]
    -A INPUT -m comment --comment "Antrea: jump to Antrea input rules" -j ANTREA-INPUT
    -A FORWARD -m comment --comment "Antrea: jump to Antrea forwarding rules" -j ANTREA-FORWARD
    -A OUTPUT -m comment --comment "Antrea: jump to Antrea output rules" -j ANTREA-OUTPUT
    -A ANTREA-INPUT -p udp -m comment --comment "Antrea: drop tunnel input packets from unknown peers" -m udp --dport 6081 -m set ! --match-set ANTREA-TUNNEL-IP6 src -j DROP
    -A ANTREA-INPUT -p udp -m comment --comment "Antrea: allow tunnel input packets" -m udp --dport 6081 -j ACCEPT
    -A ANTREA-INPUT -p tcp -m comment --comment "Antrea: allow Agent APIServer input packets" -m tcp --dport 10350 -j ACCEPT
    -A ANTREA-FORWARD -i antrea-gw0 -m comment --comment "Antrea: accept packets from local Pods" -j ACCEPT
    -A ANTREA-FORWARD -o antrea-gw0 -m comment --comment "Antrea: accept packets to local Pods" -j ACCEPT
    -A ANTREA-OUTPUT -p udp -m comment --comment "Antrea: allow tunnel output packets" -m udp --dport 6081 -j ACCEPT
    -A ANTREA-OUTPUT -p tcp -m comment --comment "Antrea: allow Agent APIServer reply packets" -m tcp --sport 10350 -m conntrack --ctstate ESTABLISHED -j ACCEPT
    COMMIT
    "#);
}

#[test]
fn a_dual_stack_node_has_the_rules_of_both() {
    let mut config = ipv6_node();
    config.own_pod_cidrs.v4 = recorded_node().own_pod_cidrs.v4;
    let both = host_rules(&config);
    assert_eq!(both.rulesets.v6, host_rules(&ipv6_node()).rulesets.v6);
    assert_eq!(
        both.rulesets.v4,
        host_rules(&HostConfig { membership_port: None, ..recorded_node() }).rulesets.v4
    );
    assert_eq!(both.sysctls.len(), 3);
}

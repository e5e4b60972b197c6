//! iptables and IP sets, compared with what the `save` programs print.

use antrea_host::{Outcome, firewall};
use antrea_hostplan::iptables::SourcePorts;
use antrea_hostplan::{ExternalMasquerade, HostConfig, HostPlan, ServiceTraffic, host_rules};
use antrea_types::TunnelTraffic;

use crate::sandbox::{isolated, sh};

pub(crate) fn config() -> HostConfig {
    HostConfig {
        gateway: "antrea-gw0".parse().unwrap(),
        own_pod_cidrs: ["10.11.0.0/24", "fd00:11::/64"]
            .map(|text| text.parse::<ipnet::IpNet>().unwrap())
            .into_iter()
            .collect(),
        pod_cidrs: ["10.11.0.0/24", "10.11.1.0/24", "fd00:11::/64"].map(|text| text.parse().unwrap()).into(),
        tunnel: Some(TunnelTraffic::Udp(6081)),
        far_ends: ["172.18.0.2", "fd00:18::2"].map(|text| text.parse().unwrap()).into(),
        agent_api_port: 10350,
        membership_port: Some(10351),
        external_masquerade: ExternalMasquerade::On(SourcePorts::Kept),
        services: ServiceTraffic::ByHost,
    }
}

fn node() -> HostPlan {
    sh("ip link add antrea-gw0 type bridge");
    host_rules(&config())
}

pub(crate) fn saved() -> String {
    let rules = sh("iptables-save; ip6tables-save");
    let lines = rules.lines().filter(|line| !line.starts_with('#'));
    let sets = sh("ipset save | sort");
    let sets = sets.lines().map(|line| line.split(" initval").next().unwrap_or(line));
    lines.chain(sets).map(|line| format!("{line}\n")).collect()
}

#[test]
fn applying_twice_changes_nothing_and_a_sync_finds_nothing() {
    isolated("firewall", async || {
        let plan = node();
        firewall::apply_at_start(&plan).await.unwrap();
        let first = saved();
        for family in ["4", "6"] {
            let masquerade = if family == "4" { "ANTREA-POD-IP dst" } else { "ANTREA-POD-IP6 dst" };
            assert!(first.contains(masquerade), "{first}");
        }
        assert_eq!(firewall::sync(&plan).await.unwrap(), Outcome::Unchanged);
        firewall::apply_at_start(&plan).await.unwrap();
        assert_eq!(saved(), first);
    });
}

#[test]
fn what_others_did_to_it_is_repaired_and_what_is_theirs_stays() {
    isolated("firewall", async || {
        let plan = node();
        firewall::apply_at_start(&plan).await.unwrap();
        sh("iptables -N OTHERS; iptables -A OTHERS -j RETURN; iptables -A FORWARD -j OTHERS");
        sh("ipset create OTHERS hash:ip; ipset add OTHERS 10.0.0.1");
        let right = saved();
        for damage in [
            "iptables -A INPUT -m comment --comment 'Antrea: jump to Antrea input rules' -j ANTREA-INPUT",
            "iptables -t nat -F ANTREA-POSTROUTING",
            "ip6tables -D FORWARD 1",
            "iptables -t raw -F && iptables -t raw -X",
            "iptables -N ANTREA-STALE && iptables -A OUTPUT -j ANTREA-STALE",
            "ipset del ANTREA-POD-IP 10.11.1.0/24 && ipset add ANTREA-POD-IP 10.99.0.0/24",
        ] {
            sh(damage);
            assert_eq!(firewall::sync(&plan).await.unwrap(), Outcome::Changed, "{damage}");
            assert_eq!(firewall::sync(&plan).await.unwrap(), Outcome::Unchanged, "{damage}");
            let sorted =
                |text: &str| text.lines().map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
            assert_eq!(sorted(&saved()), sorted(&right), "{damage}");
        }
    });
}

#[test]
fn a_restart_repairs_as_well() {
    isolated("firewall", async || {
        let plan = node();
        firewall::apply_at_start(&plan).await.unwrap();
        let right = saved();
        sh("iptables -t mangle -F ANTREA-OUTPUT; ip6tables -F ANTREA-INPUT; ipset flush ANTREA-POD-IP");
        firewall::apply_at_start(&plan).await.unwrap();
        assert_eq!(saved(), right);
    });
}

#[test]
fn a_node_that_comes_is_added_to_the_set_in_use() {
    isolated("firewall", async || {
        let plan = node();
        firewall::apply_at_start(&plan).await.unwrap();
        let mut more = config();
        more.pod_cidrs.push("10.11.2.0/24".parse().unwrap());
        firewall::set_ip_sets(&host_rules(&more).ip_sets).await.unwrap();
        assert!(sh("ipset save ANTREA-POD-IP").contains("add ANTREA-POD-IP 10.11.2.0/24"));
        assert_eq!(
            sh("ipset list -n | sort"),
            "ANTREA-POD-IP\nANTREA-POD-IP6\nANTREA-TUNNEL-IP\nANTREA-TUNNEL-IP6"
        );
    });
}

#[test]
fn gre_and_random_ports_are_saved_as_they_were_written() {
    isolated("firewall", async || {
        sh("ip link add antrea-gw0 type bridge");
        let plan = host_rules(&HostConfig {
            tunnel: Some(TunnelTraffic::Gre),
            external_masquerade: ExternalMasquerade::On(SourcePorts::RandomFully),
            membership_port: None,
            ..config()
        });
        firewall::apply_at_start(&plan).await.unwrap();
        assert_eq!(firewall::sync(&plan).await.unwrap(), Outcome::Unchanged);
    });
}

#[test]
fn removal_leaves_nothing_of_ours() {
    isolated("firewall", async || {
        let plan = node();
        firewall::apply_at_start(&plan).await.unwrap();
        firewall::remove().await.unwrap();
        let left = saved();
        assert!(!left.contains("ANTREA"), "{left}");
        firewall::remove().await.unwrap();
    });
}

#[test]
fn a_program_that_fails_is_quoted() {
    isolated("firewall", async || {
        let plan = node();
        sh("ipset create ANTREA-POD-IP hash:ip");
        let error = firewall::apply_at_start(&plan).await.unwrap_err();
        assert_eq!(error.to_string(), "cannot set the IP sets of the Node");
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.starts_with("`ipset restore -exist` failed (exit status: 1): ipset v"), "{cause}");
    });
}

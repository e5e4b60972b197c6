//! Bridges, ports and notes in the database.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use antrea_ovs::ovsdb::{
    BridgeSpec, DatapathType, InterfaceType, Link, LocalPort, OvsDb, PortSpec, Snapshot, Transaction,
};
use antrea_types::OfPort;

use crate::fixture::{BRIDGE, bridge, dump_flows, soon, start, start_with_bridge};

fn gateway() -> PortSpec {
    PortSpec {
        ofport_request: Some(OfPort::GATEWAY),
        mac: Some("02:83:db:9d:af:a1".parse().unwrap()),
        mtu_request: Some(1450),
        external_ids: notes(&[("antrea-type", "gateway")]),
        ..PortSpec::new("antrea-gw0", InterfaceType::Internal)
    }
}

fn tunnel() -> PortSpec {
    PortSpec {
        ofport_request: Some(OfPort::TUNNEL),
        options: notes(&[("key", "flow"), ("remote_ip", "flow")]),
        ..PortSpec::new("antrea-tun0", InterfaceType::Geneve)
    }
}

fn notes(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// How often the configuration was changed.
fn configuration(database: &OvsDb) -> i64 {
    database.snapshot().open_vswitch().unwrap().next_cfg
}

#[tokio::test]
async fn a_bridge_is_made_once() {
    let Some((ovs, database)) = start().await else { return };
    database.ensure_bridge(&bridge()).await.unwrap();
    assert!(ovs.management_socket(BRIDGE).exists(), "the bridge is there when ensure_bridge returns");
    let before = configuration(&database);
    database.ensure_bridge(&bridge()).await.unwrap();
    assert_eq!(configuration(&database), before, "nothing was written the second time");
    assert_eq!(
        ovs.vsctl(["get", "bridge", BRIDGE, "datapath_type", "protocols"]).unwrap(),
        "netdev\n[OpenFlow10, OpenFlow15]\n"
    );
}

/// OVS deletes all flows of a bridge whose `fail_mode` changes.
#[tokio::test]
async fn a_fail_mode_that_nobody_asked_for_is_left_alone() {
    let Some((ovs, database)) = start_with_bridge().await else { return };
    ovs.ofctl(["add-flow", BRIDGE, "in_port=1,actions=drop"]).unwrap();
    database.ensure_bridge(&BridgeSpec { fail_mode: None, ..bridge() }).await.unwrap();
    assert_eq!(ovs.vsctl(["get", "bridge", BRIDGE, "fail_mode"]).unwrap(), "secure\n");
    assert_eq!(dump_flows(&ovs), ["in_port=1 actions=drop"]);
}

#[tokio::test]
async fn a_bridge_that_somebody_changed_is_put_right() {
    let Some((ovs, database)) = start_with_bridge().await else { return };
    ovs.vsctl(["set", "bridge", BRIDGE, "protocols=OpenFlow13", "external_ids:theirs=1"]).unwrap();
    let theirs = |snapshot: &Arc<Snapshot>| !snapshot.bridge(BRIDGE).unwrap().external_ids.is_empty();
    soon("the change is seen", database.changed().wait_for(theirs)).await.unwrap();
    database.ensure_bridge(&bridge()).await.unwrap();
    let text = ovs.vsctl(["get", "bridge", BRIDGE, "protocols", "external_ids"]).unwrap();
    assert_eq!(text, "[OpenFlow10, OpenFlow15]\n{theirs=\"1\"}\n");
}

#[tokio::test]
async fn a_bridge_can_list_its_local_port() {
    let Some((ovs, database)) = start().await else { return };
    let spec =
        BridgeSpec { local_port: LocalPort::Listed, ..BridgeSpec::new("br-phy", DatapathType::Netdev) };
    database.ensure_bridge(&spec).await.unwrap();
    assert!(ovs.ip(["-br", "link", "show", "br-phy"]).unwrap().starts_with("br-phy"));
    database.delete_bridge("br-phy").await.unwrap();
    assert_eq!(ovs.vsctl(["list-br"]).unwrap(), "");
    database.delete_bridge("br-phy").await.unwrap();
}

#[tokio::test]
async fn ports_get_the_numbers_that_are_asked_for() {
    let Some((ovs, database)) = start_with_bridge().await else { return };
    for _ in 0..2 {
        assert_eq!(database.ensure_port(BRIDGE, &gateway()).await.unwrap(), OfPort::GATEWAY);
        assert_eq!(database.ensure_port(BRIDGE, &tunnel()).await.unwrap(), OfPort::TUNNEL);
    }
    let ports: Vec<_> = database.ports(BRIDGE).unwrap();
    let names: Vec<_> = ports.iter().map(|port| port.port.name.as_str()).collect();
    assert_eq!(names, ["antrea-gw0", "antrea-tun0"]);
    assert_eq!(ports[0].port.external_ids, gateway().external_ids);
    assert!(ovs.ip(["link", "show", "antrea-gw0"]).unwrap().contains("02:83:db:9d:af:a1"));
}

#[tokio::test]
async fn a_port_that_differs_is_changed_in_place() {
    let Some((ovs, database)) = start_with_bridge().await else { return };
    database.ensure_port(BRIDGE, &gateway()).await.unwrap();
    let wanted = PortSpec { mtu_request: Some(1400), ..gateway() };
    assert_eq!(database.ensure_port(BRIDGE, &wanted).await.unwrap(), OfPort::GATEWAY);
    assert!(ovs.ip(["link", "show", "antrea-gw0"]).unwrap().contains("mtu 1400"));
}

#[tokio::test]
async fn an_interface_that_cannot_be_used_is_an_error_and_leaves_no_port() {
    let Some((ovs, database)) = start_with_bridge().await else { return };
    let error = database.ensure_port(BRIDGE, &PortSpec::system("no-such-link")).await.unwrap_err();
    let reason = "could not open network device no-such-link (No such device)";
    assert_eq!(error.to_string(), format!("ovs-vswitchd cannot use interface no-such-link: {reason}"));
    assert_eq!(ovs.vsctl(["list-ports", BRIDGE]).unwrap(), "");
}

#[tokio::test]
async fn a_port_in_error_works_once_its_link_is_there() {
    let Some((ovs, database)) = start_with_bridge().await else { return };
    let _ = ovs.vsctl(["add-port", BRIDGE, "pod-a"]);
    ovs.ip(["link", "add", "pod-a", "type", "veth", "peer", "name", "pod-a-peer"]).unwrap();
    let port = database.ensure_port(BRIDGE, &PortSpec::system("pod-a")).await.unwrap();
    assert_eq!(ovs.vsctl(["get", "interface", "pod-a", "ofport"]).unwrap(), format!("{port}\n"));
}

#[tokio::test]
async fn ports_added_at_the_same_moment_all_get_a_number() {
    let Some((ovs, database)) = start_with_bridge().await else { return };
    let names: Vec<String> = (0..20).map(|number| format!("pod-{number}")).collect();
    for name in &names {
        ovs.ip(["link", "add", name, "type", "veth", "peer", "name", &format!("{name}-c")]).unwrap();
    }
    // Each is asked for twice, so that some lose the race and have to look again.
    let mut tasks = tokio::task::JoinSet::new();
    for name in names.iter().chain(&names) {
        let (database, spec) = (database.clone(), PortSpec::system(name.clone()));
        tasks.spawn(async move { (spec.name.clone(), database.ensure_port(BRIDGE, &spec).await.unwrap()) });
    }
    let assigned: BTreeMap<_, _> =
        tasks.join_all().await.into_iter().map(|(name, port)| (port, name)).collect();
    assert_eq!(assigned.len(), 20, "{assigned:?}");
}

#[tokio::test]
async fn a_port_on_another_bridge_is_an_error() {
    let Some((_ovs, database)) = start_with_bridge().await else { return };
    database.ensure_bridge(&BridgeSpec::new("br-ext", DatapathType::Netdev)).await.unwrap();
    database.ensure_port(BRIDGE, &gateway()).await.unwrap();
    let error = database.ensure_port("br-ext", &gateway()).await.unwrap_err();
    assert_eq!(error.to_string(), "port antrea-gw0 is on bridge br-int already");
    let error = database.ensure_port("br-none", &gateway()).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no bridge br-none");
}

#[tokio::test]
async fn deleting_a_port_can_be_repeated() {
    let Some((ovs, database)) = start_with_bridge().await else { return };
    database.ensure_port(BRIDGE, &gateway()).await.unwrap();
    for _ in 0..2 {
        database.delete_port(BRIDGE, "antrea-gw0").await.unwrap();
        assert_eq!(ovs.vsctl(["list-ports", BRIDGE]).unwrap(), "");
    }
}

#[tokio::test]
async fn notes_come_back_as_they_were_written() {
    let Some((ovs, database)) = start_with_bridge().await else { return };
    database.ensure_port(BRIDGE, &gateway()).await.unwrap();
    let wanted = notes(&[
        ("antrea-type", "container"),
        ("pod-name", "b \"quoted\" ü"),
        ("ip-address", "10.0.0.4,fd00::4"),
    ]);
    database.set_port_external_ids("antrea-gw0", &wanted).await.unwrap();
    let again = OvsDb::connect(ovs.database_socket()).await;
    assert_eq!(again.snapshot().port("antrea-gw0").unwrap().port.external_ids, wanted);
    let error = database.set_port_external_ids("none", &wanted).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no port none");
}

#[tokio::test]
async fn the_round_number_is_kept_on_the_bridge() {
    let Some((ovs, database)) = start_with_bridge().await else { return };
    for round in ["1", "2"] {
        database.set_bridge_external_id(BRIDGE, "roundNum", round).await.unwrap();
        assert_eq!(
            ovs.vsctl(["get", "bridge", BRIDGE, "external_ids"]).unwrap(),
            format!("{{roundNum=\"{round}\"}}\n")
        );
    }
}

#[tokio::test]
async fn settings_of_the_switch_are_set_and_removed() {
    let Some((ovs, database)) = start().await else { return };
    let setting = || ovs.vsctl(["get", "Open_vSwitch", ".", "other_config"]).unwrap();
    database.set_open_vswitch_other_config("flow-restore-wait", "true").await.unwrap();
    assert_eq!(setting(), "{flow-restore-wait=\"true\"}\n");
    for _ in 0..2 {
        database.remove_open_vswitch_other_config("flow-restore-wait").await.unwrap();
        assert_eq!(setting(), "{}\n");
    }
}

#[tokio::test]
async fn an_empty_database_is_initialised_once() {
    let Some((ovs, database)) = start().await else { return };
    for _ in 0..2 {
        database.init().await.unwrap();
        assert_eq!(ovs.vsctl(["--columns=_uuid", "list", "Open_vSwitch"]).unwrap().lines().count(), 1);
    }
    assert_eq!(database.ovs_version(), None, "nobody wrote it");
}

#[tokio::test]
async fn what_the_server_refuses_says_why() {
    let Some((_ovs, database)) = start().await else { return };
    let error = database.transact(Transaction::new("test").require("Bridge", "br-none")).await.unwrap_err();
    let cause = std::error::Error::source(&error).unwrap();
    assert!(
        cause.to_string().starts_with("OVSDB refused operation wait on table Bridge: timed out"),
        "{cause}"
    );
}

#[tokio::test]
async fn changes_made_while_the_server_was_away_are_seen() {
    let Some((mut ovs, database)) = start_with_bridge().await else { return };
    let mut link = database.link();
    ovs.kill_database().unwrap();
    soon("the loss is noticed", link.wait_for(|link| *link == Link::Down)).await.unwrap();
    assert!(database.snapshot().bridge(BRIDGE).is_some(), "what was known stays known");
    let path = ovs.directory().join("conf.db");
    let row = r#"{"external_ids":["map",[["roundNum","7"]]]}"#;
    let update =
        format!(r#"{{"op":"update","table":"Bridge","where":[["name","==","br-int"]],"row":{row}}}"#);
    let operations = format!(r#"["Open_vSwitch",{update}]"#);
    assert!(
        ovs.command("ovsdb-tool")
            .arg("transact")
            .arg(path)
            .arg(operations)
            .output()
            .unwrap()
            .status
            .success()
    );
    ovs.start_database().unwrap();
    // Asked for while the server comes back: it waits, and then sees the database as it is.
    let gateway = soon("the port is added", database.ensure_port(BRIDGE, &gateway())).await.unwrap();
    assert_eq!(gateway, OfPort::GATEWAY);
    soon("the link is up", link.wait_for(|link| *link == Link::Up)).await.unwrap();
    assert_eq!(database.snapshot().bridge(BRIDGE).unwrap().external_ids, notes(&[("roundNum", "7")]));
}

/// Not an assertion: figures depend on the machine.
#[tokio::test]
async fn the_time_to_add_a_port_is_printed() {
    let Some((ovs, database)) = start_with_bridge().await else { return };
    let mut times = Vec::new();
    for number in 0..50 {
        let name = format!("pod-{number}");
        ovs.ip(["link", "add", &name, "type", "veth", "peer", "name", &format!("{name}-c")]).unwrap();
        let start = Instant::now();
        database.ensure_port(BRIDGE, &PortSpec::system(name)).await.unwrap();
        times.push(start.elapsed());
    }
    times.sort();
    println!("ensure_port of a veth, 50 times one after the other: p50 {:?}, p99 {:?}", times[25], times[49]);
}

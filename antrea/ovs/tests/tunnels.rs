//! The tunnel port of a bridge that is at work: another type, other options.

use std::collections::BTreeMap;

use antrea_ovs::ovsdb::{InterfaceType, OvsDb, PortSpec};
use antrea_ovs::testing::OvsProcess;
use antrea_types::OfPort;

use crate::fixture::{BRIDGE, dump_flows, start_with_bridge};

const FLOW: &str = "in_port=32768 actions=drop";

fn tunnel(interface_type: InterfaceType, more: &[(&str, &str)]) -> PortSpec {
    let options = [("key", "flow"), ("remote_ip", "flow")].iter().chain(more);
    PortSpec {
        ofport_request: Some(OfPort::TUNNEL),
        options: options.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        external_ids: BTreeMap::from([("antrea-type".to_owned(), "tunnel".to_owned())]),
        ..PortSpec::new("antrea-tun0", interface_type)
    }
}

/// The port becomes that, without a new row: `options` is what `ovs-vsctl` then prints.
async fn change(ovs: &OvsProcess, database: &OvsDb, spec: &PortSpec, options: &str) {
    assert_eq!(database.ensure_port(BRIDGE, spec).await.unwrap(), OfPort::TUNNEL);
    let found = ovs.vsctl(["get", "interface", "antrea-tun0", "type", "options", "ofport", "error"]).unwrap();
    assert_eq!(found, format!("{}\n{options}\n32768\n[]\n", spec.interface_type.as_str()));
    assert_eq!(dump_flows(ovs), [FLOW]);
}

#[tokio::test]
async fn a_tunnel_of_another_type_keeps_its_row_its_number_and_the_flows() {
    let Some((ovs, database)) = start_with_bridge().await else { return };
    ovs.ofctl(["add-flow", BRIDGE, "in_port=32768,actions=drop"]).unwrap();
    let row = || ovs.vsctl(["get", "port", "antrea-tun0", "_uuid", "interfaces"]).unwrap();
    let geneve = tunnel(InterfaceType::Geneve, &[("csum", "true"), ("dst_port", "6082")]);
    let all = r#"{csum="true", dst_port="6082", key=flow, remote_ip=flow}"#;
    change(&ovs, &database, &geneve, all).await;
    let before = row();
    let plain = "{key=flow, remote_ip=flow}";
    for interface_type in [InterfaceType::Vxlan, InterfaceType::Gre, InterfaceType::Geneve] {
        change(&ovs, &database, &tunnel(interface_type, &[]), plain).await;
        assert!(carries(&ovs, interface_type), "{}", listeners(&ovs));
    }
    change(&ovs, &database, &geneve, all).await;
    assert_eq!(row(), before, "the port was changed, not made again");
}

/// What ovs-vswitchd takes tunnel packets of.
fn listeners(ovs: &OvsProcess) -> String {
    ovs.appctl(["tnl/ports/show"]).unwrap()
}

/// Whether ovs-vswitchd takes packets of this tunnel now, and of no other.
fn carries(ovs: &OvsProcess, interface_type: InterfaceType) -> bool {
    let system = match interface_type {
        InterfaceType::Geneve => "genev_sys_6081",
        InterfaceType::Vxlan => "vxlan_sys_4789",
        InterfaceType::Gre => "gre_sys",
        InterfaceType::System | InterfaceType::Internal => return false,
    };
    let shown = listeners(ovs);
    shown.contains(system) && shown.matches("_sys").count() == 1
}

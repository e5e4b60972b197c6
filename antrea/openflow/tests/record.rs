//! Text as upstream's agent makes `ovs-ofctl` print it, through bytes and back.
//!
//! `golden/` is recorded from upstream Antrea main at fc70f2bb7 (v2.8.0-dev).

use std::collections::BTreeMap;

use antrea_openflow::{FlowMod, Group, GroupMod, Message, MeterMod, Names, TableId};
use antrea_types::OfPort;

use crate::ofctl;

/// The names that the recorded bridge has for tables and ports.
struct Recorded {
    tables: Vec<&'static str>,
    ports: BTreeMap<OfPort, &'static str>,
}

impl Names for Recorded {
    fn table(&self, table: TableId) -> Option<&str> {
        self.tables.get(usize::from(table.0)).copied()
    }

    fn port(&self, port: OfPort) -> Option<&str> {
        self.ports.get(&port).copied()
    }
}

fn recorded_names() -> Recorded {
    let mut tables: Vec<&str> = Vec::new();
    for line in include_str!("golden/pods-flows-names.txt").lines() {
        let name = line.split_once("table=").unwrap().1.split_once(',').unwrap().0;
        if tables.last() != Some(&name) {
            tables.push(name);
        }
    }
    let ports = [(32768, "antrea-tun0"), (32769, "antrea-gw0"), (2, "a-dc4592"), (3, "b-adfee7")];
    Recorded { tables, ports: ports.map(|(number, name)| (OfPort(number), name)).into() }
}

fn added_flows(text: &str) -> Vec<FlowMod> {
    ofctl::changes_by("add-flows", &["-"], text)
        .into_iter()
        .map(|message| match message {
            Message::FlowMod(change) => change,
            other => panic!("{other:?}"),
        })
        .collect()
}

#[track_caller]
fn check_flows(test: &str, text: &str) {
    if !ofctl::available(test) {
        return;
    }
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let flows = added_flows(text);
    let printed: Vec<String> = flows.iter().map(|change| change.flow.to_string()).collect();
    assert_eq!(printed, lines);
    for change in flows {
        let text = change.to_string();
        let bytes = ofctl::encoded(&Message::FlowMod(change.clone()));
        assert_eq!(Message::decode(&bytes).unwrap().1, Message::FlowMod(change));
        assert_eq!(ofctl::print_bytes(&bytes), text);
    }
}

#[test]
fn flows_of_pods_print_as_recorded() {
    check_flows("flows_of_pods_print_as_recorded", include_str!("golden/pods-flows-no-names.txt"));
}

#[test]
fn flows_of_services_print_as_recorded() {
    check_flows("flows_of_services_print_as_recorded", include_str!("golden/service-flows-no-names.txt"));
}

#[test]
fn flows_of_policies_print_as_recorded() {
    check_flows(
        "flows_of_policies_print_as_recorded",
        include_str!("golden/antrea-policy-flows-no-names.txt"),
    );
}

#[test]
fn flows_of_egress_print_as_recorded() {
    check_flows("flows_of_egress_print_as_recorded", include_str!("golden/egress-flows-no-names.txt"));
}

#[track_caller]
fn check_names(test: &str, numbers: &str, names: &str) {
    if !ofctl::available(test) {
        return;
    }
    let recorded = recorded_names();
    let mut printed: Vec<String> =
        added_flows(numbers).iter().map(|change| change.flow.display(&recorded).to_string()).collect();
    let mut lines: Vec<&str> = names.lines().map(str::trim).collect();
    printed.sort_unstable();
    lines.sort_unstable();
    assert_eq!(printed, lines);
}

#[test]
fn tables_and_ports_are_named_as_recorded() {
    let test = "tables_and_ports_are_named_as_recorded";
    check_names(
        test,
        include_str!("golden/pods-flows-no-names.txt"),
        include_str!("golden/pods-flows-names.txt"),
    );
    check_names(
        test,
        include_str!("golden/antrea-policy-flows-no-names.txt"),
        include_str!("golden/antrea-policy-flows-names.txt"),
    );
}

#[test]
fn groups_print_as_recorded() {
    if !ofctl::available("groups_print_as_recorded") {
        return;
    }
    let lines: Vec<&str> = include_str!("golden/service-groups.txt").lines().skip(1).map(str::trim).collect();
    let changes = ofctl::changes_by("add-groups", &["-"], &lines.join("\n"));
    let groups: Vec<Group> = changes
        .into_iter()
        .map(|message| match message {
            Message::GroupMod(GroupMod::Add(group)) => group,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(groups.iter().map(ToString::to_string).collect::<Vec<_>>(), lines);
    for group in groups {
        let text = group.to_string();
        assert_eq!(ofctl::print(&Message::GroupMod(GroupMod::Add(group))), format!("ADD {text}"));
    }
}

#[test]
fn meters_print_as_recorded() {
    if !ofctl::available("meters_print_as_recorded") {
        return;
    }
    let mut printed = Vec::new();
    for id in 256..=258 {
        let argument = format!("meter={id},pktps,burst,band=type=drop,rate=5000,burst_size=10000");
        match ofctl::changes_by("add-meter", &[&argument], "").as_slice() {
            [Message::MeterMod(MeterMod::Add(meter))] => {
                printed.push(meter.to_string());
                let bytes = ofctl::encoded(&Message::MeterMod(MeterMod::Add(meter.clone())));
                assert_eq!(ofctl::print_bytes(&bytes), format!("ADD {meter}"));
            }
            other => panic!("{other:?}"),
        }
    }
    let recorded = include_str!("golden/egress-meters.txt");
    assert_eq!(printed.join("\n\n"), recorded.lines().skip(1).collect::<Vec<_>>().join("\n").trim());
}

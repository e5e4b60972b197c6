//! Ports of the import are those of all its exporters; of two that exclude each other the older export's counts.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::fixture::with_services;
use super::look::{both_are_told, imported_everywhere};
use super::service::{NAMESPACE, Service, Services, port};
use crate::multicluster::refusals::wait_for_event;
use crate::multicluster::stage::Stage;

const OF_ONE: &str = "ports";
/// Each exporter has a port, 81 in B and 82 in C, that the other one has not.
pub(super) const UNITED: &str = "ports-united";
/// The exporters have other numbers by the same names: 80 and 53 in B, 81 and 54 in C.
pub(super) const DISPUTED: &str = "ports-disputed";

/// What holds wherever Pods are reached.
pub(super) const BEHAVIOURS: [fn(); 3] = [
    ports_of_the_import_are_those_of_the_service,
    ports_of_two_exporters_are_united_and_both_say_conflict,
    of_conflicting_ports_the_oldest_counts_and_both_say_conflict,
];

pub(super) fn services() -> Services {
    let mut with_protocol = port("http", "TCP", 80);
    with_protocol["appProtocol"] = "http".into();
    let both = || port("http", "TCP", 80);
    let of = |name, ports: [Value; 2]| Service::exported(name).with("ports", json!(ports));
    Services {
        b: vec![
            of(OF_ONE, [with_protocol, port("dns", "UDP", 53)]),
            of(UNITED, [both(), port("only-b", "TCP", 81)]),
            of(DISPUTED, [both(), port("dns", "UDP", 53)]),
        ],
        c: vec![
            of(UNITED, [both(), port("only-c", "TCP", 82)]),
            of(DISPUTED, [port("http", "TCP", 81), port("dns", "UDP", 54)]),
        ],
    }
}

#[test]
fn ports_of_the_import_are_those_of_the_service() {
    with_services("ports_of_the_import_are_those_of_the_service", |stage| {
        ensure_ports(stage, OF_ONE, &["dns UDP 53", "http TCP 80 http"])
    });
}

#[test]
fn ports_of_two_exporters_are_united_and_both_say_conflict() {
    with_services("ports_of_two_exporters_are_united_and_both_say_conflict", |stage| {
        let said = [
            "port only-b 81/TCP is exported by cluster-b only",
            "port only-c 82/TCP is exported by cluster-c only",
        ];
        both_are_told(stage, UNITED, "PortConflict", &said)?;
        ensure_ports(stage, UNITED, &["http TCP 80", "only-b TCP 81", "only-c TCP 82"])
    });
}

#[test]
fn of_conflicting_ports_the_oldest_counts_and_both_say_conflict() {
    with_services("of_conflicting_ports_the_oldest_counts_and_both_say_conflict", |stage| {
        let said = [
            "port http 81/TCP of cluster cluster-c gets no connections",
            "port dns 54/UDP of cluster cluster-c gets no connections",
        ];
        both_are_told(stage, DISPUTED, "PortConflict", &said)?;
        for member in [stage.b()?, stage.c()?] {
            wait_for_event(&member.kubectl, NAMESPACE, DISPUTED, "PortConflict")?;
        }
        ensure_ports(stage, DISPUTED, &["dns UDP 53", "http TCP 80"])
    });
}

/// The import has these ports in all clusters, whatever their order there. `expected` is sorted.
fn ensure_ports(stage: &Stage, service: &str, expected: &[&str]) -> Result<()> {
    imported_everywhere(stage, service, |_, import| {
        let mut found: Vec<String> =
            import["spec"]["ports"].as_array().into_iter().flatten().map(described).collect();
        found.sort();
        ensure!(found == expected, "it has ports {found:?}");
        Ok(())
    })
}

fn described(port: &Value) -> String {
    let words = ["name", "protocol", "port", "appProtocol"].map(|field| match &port[field] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    words.join(" ").trim_end().to_owned()
}

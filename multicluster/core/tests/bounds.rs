//! Imports that would be too large for one object.

use crate::area::{Area, endpoints, service};

const HTTP: &str = "ports: [{name: http, port: 80, protocol: TCP}]";
const IP: &str = "type: ClusterSetIP";

/// So many endpoints of a cluster, of about 120 bytes each in an import.
fn many(cluster: &str, network: u8, number: usize) -> String {
    let zone = "z".repeat(60);
    let one = |number: usize| {
        format!("{{addresses: [10.{network}.{}.{}], zone: {zone}}}", number / 250, number % 250 + 1)
    };
    let all: Vec<String> = (0..number).map(one).collect();
    let ports = "[{name: http, port: 80, protocol: TCP}]";
    let slice = format!("{{addressType: IPv4, ports: {ports}, endpoints: [{}]}}", all.join(", "));
    endpoints(cluster, &format!("endpointSlices: [{slice}]"))
}

/// Of whom the endpoints are imported, by their networks, and what is said to exporters.
fn imported(area: &Area) -> (Vec<&'static str>, String) {
    let text = area.text();
    let is_in = |network: &&str| text.contains(&format!("{{addresses: [{network}.0.1]"));
    let told = text.lines().filter(|line| line.starts_with("  ") && line.contains("-endpoints "));
    (
        ["10.1", "10.2", "10.3"].into_iter().filter(is_in).collect(),
        told.map(str::trim).collect::<Vec<_>>().join("\n"),
    )
}

#[test]
fn of_endpoints_that_are_too_many_for_one_import_those_of_the_largest_exporter_are_left_out() {
    let services =
        [("east", 1), ("south", 2), ("west", 3)].map(|(cluster, minute)| service(cluster, minute, HTTP, IP));
    let mut area = Area::of(&services);
    for export in [many("east", 1, 8_000), many("south", 2, 6_000), many("west", 3, 1)] {
        area.apply(&export);
    }
    let (networks, told) = imported(&area);
    assert_eq!(networks, ["10.2", "10.3"]);
    insta::assert_snapshot!(told, @"
    east-shop-web-endpoints refused: the export of cluster east is left out: the ResourceImport would have more than 1433600 bytes, and it needs the most of them
    south-shop-web-endpoints taken
    west-shop-web-endpoints taken
    ");
    area.apply(&many("south", 2, 1_000));
    assert_eq!(imported(&area).0, ["10.1", "10.2", "10.3"]);
}

#[test]
fn a_service_that_is_too_large_for_an_import_keeps_no_other_one_from_it() {
    let long = "v".repeat(1_500);
    let ports: Vec<String> =
        (1..=1_000).map(|port| format!("{{name: p{port}-{long}, port: {port}}}")).collect();
    let large = service("east", 1, &format!("ports: [{}]", ports.join(", ")), IP);
    let mut area = Area::of(&[large, many("east", 1, 1)]);
    let refused = "refused: the export of cluster east is left out: the ResourceImport would have more than 1433600 bytes";
    for export in ["east-shop-web-service", "east-shop-web-endpoints"] {
        assert!(area.text().contains(&format!("{export} {refused}")), "{export}");
    }
    assert!(area.text().contains("no shop-web-service"));
    area.apply(&service("west", 2, HTTP, IP));
    area.apply(&many("west", 2, 1));
    let (text, (networks, _)) = (area.text(), imported(&area));
    assert!(text.contains("serviceImport.status.clusters: {cluster: west}"), "{text}");
    assert!(text.contains(refused) && !text.contains(&long), "{text}");
    assert_eq!(networks, ["10.2"]);
}

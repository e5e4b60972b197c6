//! Statistics, and the tables that kubectl prints of them.

use antrea_shared_api::api::{Listed, from_json, to_json};
use antrea_shared_api::meta::{List, Printed, Table};
use antrea_shared_api::stats::v1alpha1::{
    AntreaClusterNetworkPolicyStats, AntreaNetworkPolicyStats, MulticastGroup, NetworkPolicyStats,
    PodReference,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{CLUSTERS, bytes, in_order, json};

/// Columns and rows are upstream's; descriptions are our own.
fn without_descriptions(table: &Table) -> serde_json::Value {
    let mut table = json(&to_json(table).unwrap());
    for column in table["columnDefinitions"].as_array_mut().unwrap() {
        assert_ne!(column["description"].take(), "");
    }
    table
}

#[track_caller]
fn check<T: Listed + Printed + Serialize + DeserializeOwned>() {
    for cluster in CLUSTERS {
        let name = format!("{cluster}/api/stats-{}", T::PLURAL);
        let recorded = bytes(&format!("{name}.json"));
        let list: List<T> = from_json(&recorded).unwrap();
        assert_eq!(json(&to_json(&list).unwrap()), json(&recorded), "{name}");

        let recorded = bytes(&format!("{name}.table.json"));
        let table: Table = from_json(&recorded).unwrap();
        assert_eq!(json(&to_json(&table).unwrap()), json(&recorded), "{name}");
        let ours = without_descriptions(&Table::of(&list.items));
        assert_eq!(ours["columnDefinitions"], without_descriptions(&table)["columnDefinitions"], "{name}");
        assert_eq!(in_order(ours), in_order(without_descriptions(&table)), "{name}");
    }
}

#[test]
fn statistics_and_their_tables() {
    check::<NetworkPolicyStats>();
    check::<AntreaClusterNetworkPolicyStats>();
    check::<AntreaNetworkPolicyStats>();
    check::<MulticastGroup>();
}

#[test]
fn of_many_pods_in_a_multicast_group_three_are_printed() {
    let pod = |name: &str| PodReference { name: name.to_owned(), namespace: "n".to_owned() };
    let mut group = MulticastGroup { group: "224.3.4.5".to_owned(), ..MulticastGroup::default() };
    for (name, expected) in [
        ("a", "n/a"),
        ("b", "n/a,n/b"),
        ("c", "n/a,n/b,n/c"),
        ("d", "n/a,n/b,n/c + 1 more..."),
        ("e", "n/a,n/b,n/c + 2 more..."),
    ] {
        group.pods.push(pod(name));
        assert_eq!(group.cells(), ["224.3.4.5", expected]);
    }
}

//! How many ports are looked at, or copied, and how many networks of a claim. That is what takes time where much is exported or
//! claimed, and what tests count instead.

#[cfg(test)]
thread_local! {
    static LOOKS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// A port is looked at, or copied, or a network is looked up.
pub(crate) fn look() {
    #[cfg(test)]
    LOOKS.set(LOOKS.get() + 1);
}

/// How many looks something takes.
#[cfg(test)]
pub(crate) fn count(what: impl FnOnce()) -> usize {
    let before = LOOKS.get();
    what();
    LOOKS.get() - before
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::net::Ipv4Addr;

    use antrea_shared_api::multicluster::v1alpha1::ResourceExport;
    use serde_json::{Value, json};

    use super::LOOKS;
    use crate::addresses::Claims;
    use crate::common_area::{CommonArea, Surroundings};
    use crate::label_identity::LabelIdentities;

    fn export(cluster: &str, kind: &str, payload: &Value) -> ResourceExport {
        let field = kind.to_lowercase();
        let export = json!({
            "metadata": { "name": format!("{cluster}-shop-web-{field}") },
            "spec": { "kind": kind, "clusterID": cluster, "namespace": "shop", "name": "web", (field): payload },
        });
        serde_json::from_value(export).unwrap()
    }

    /// A Service and its endpoints: so many ports, from `first` on, and so many addresses with all of these.
    fn exports(cluster: &str, first: usize, ports: usize, addresses: u32) -> [ResourceExport; 2] {
        let port =
            |number: usize| json!({ "name": format!("port-{number}"), "port": number, "protocol": "TCP" });
        let ports: Vec<Value> = (first..first + ports).map(port).collect();
        let address = |number: u32| json!({ "ip": Ipv4Addr::from_bits(0x0a00_0001 + number).to_string() });
        let addresses: Vec<Value> = (0..addresses).map(address).collect();
        let service = json!({ "serviceSpec": { "ports": &ports }, "origin": { "type": "ClusterSetIP" } });
        let endpoints = json!({ "subsets": [{ "addresses": addresses, "ports": ports }] });
        [export(cluster, "Service", &service), export(cluster, "Endpoints", &endpoints)]
    }

    /// What it costs to take in what a cluster exports beside another one, and to merge that.
    fn looks(ports: usize, addresses: u32) -> usize {
        let all = [exports("east", 1, ports, addresses), exports("west", ports + 1, 1, 1)];
        let before = LOOKS.get();
        let mut area = CommonArea::default();
        for object in all.iter().flatten() {
            area.apply(object);
        }
        let surroundings = Surroundings {
            withdrawn: &BTreeSet::new(),
            joined: &BTreeMap::new(),
            claims: &Claims::default(),
            labels: &LabelIdentities::default(),
            namespace: "common",
        };
        for resource in area.resources() {
            let outcome = area.merge(resource, &surroundings);
            assert!(outcome.import.is_some(), "{outcome:?}");
        }
        LOOKS.get() - before
    }

    #[test]
    fn an_export_costs_as_much_as_it_has_ports_however_many_addresses_have_them() {
        let (few, many) = (looks(1_000, 10), looks(1_000, 10_000));
        assert_eq!(few, many);
        assert!(many < 40 * 1_000, "{many} looks at 1000 ports");
    }

    #[test]
    fn twice_as_many_ports_cost_twice_as_much() {
        let (some, twice) = (looks(400, 1), looks(800, 1));
        assert!(twice < 2 * some + 100, "{some} looks at 400 ports, {twice} at 800");
    }
}

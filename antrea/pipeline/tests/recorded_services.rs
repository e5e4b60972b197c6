//! Services as a short table: groups with their endpoints, and the frontends of each.

use std::net::SocketAddr;

use antrea_openflow::GroupId;
use antrea_pipeline::service::{
    Backend, Destination, Endpoint, EndpointGroup, EndpointKind, EndpointPlace, Frontend, GroupMode,
    LoadBalancerMode, Origin, SessionAffinity,
};
use antrea_types::{IpFamily, Protocol};

use crate::served::Served;

/// Lines such as `9: 10.11.1.3:8080 | tcp 10.97.0.110:80 | external 192.0.2.80:80`: a group, its endpoints, its
/// frontends. The word before a frontend says which kind it is.
pub(crate) struct ServiceTable {
    pub(crate) text: &'static str,
    /// What addresses on this Node begin with.
    pub(crate) local: String,
}

impl ServiceTable {
    pub(crate) fn served(&self, family: IpFamily) -> Served {
        let mut served = Served::default();
        for line in self.text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (id, rest) = line.split_once(':').unwrap();
            let group = GroupId(id.parse().unwrap());
            let mut parts = rest.split('|');
            let endpoints: Vec<Endpoint> =
                parts.next().unwrap().split_whitespace().map(|text| self.endpoint(text)).collect();
            let frontends: Vec<Frontend> = parts.map(|text| frontend(text.trim(), group, family)).collect();
            for frontend in &frontends {
                served.add_backends(frontend.protocol, &endpoints);
            }
            let affinity = frontends[0].affinity;
            served.groups.push(EndpointGroup {
                id: group,
                family,
                endpoints,
                affinity,
                mode: GroupMode::Nat,
            });
            served.frontends.extend(frontends);
        }
        served
    }

    fn endpoint(&self, text: &str) -> Endpoint {
        let place =
            if text.starts_with(&self.local) { EndpointPlace::ThisNode } else { EndpointPlace::Elsewhere };
        Endpoint { address: text.parse().unwrap(), place }
    }
}

impl Served {
    pub(crate) fn add_backends(&mut self, protocol: Protocol, endpoints: &[Endpoint]) {
        for Endpoint { address, .. } in endpoints {
            let backend = Backend::Translated { protocol, address: *address };
            if !self.backends.contains(&backend) {
                self.backends.push(backend);
            }
        }
    }
}

fn frontend(text: &str, group: GroupId, family: IpFamily) -> Frontend {
    let (kind, target) = text.split_once(' ').unwrap();
    let (kind, short_circuit) = match kind.split_once("-else-") {
        Some((kind, group)) => (kind, Some(GroupId(group.parse().unwrap()))),
        None => (kind, None),
    };
    let destination = match kind {
        "node-port" => Destination::NodePort { family, port: target.parse().unwrap() },
        _ => Destination::Address(target.parse::<SocketAddr>().unwrap()),
    };
    Frontend {
        protocol: if kind == "udp" { Protocol::Udp } else { Protocol::Tcp },
        destination,
        origin: match kind {
            "node-port" | "external" => Origin::External { short_circuit },
            _ => Origin::Internal { other_clusters: None },
        },
        group,
        affinity: match kind {
            "sticky" => SessionAffinity::ClientIp { timeout_seconds: 300 },
            _ => SessionAffinity::None,
        },
        endpoints: EndpointKind::Direct,
        mode: LoadBalancerMode::Nat,
    }
}

//! From a Service and its endpoints to what the switch has for it.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use antrea_openflow::GroupId;
use antrea_pipeline::service::{
    AdmittedSources, Backend, Destination, Endpoint, EndpointGroup, EndpointKind, EndpointPlace, Frontend,
    GroupMode, LoadBalancerMode, Origin,
};
use antrea_types::{IpFamily, Protocol};

use crate::addresses::{Address, AddressClass};
use crate::endpoint_slice::EndpointNode;
use crate::select::Selected;
use crate::service::{ForwardingMode, Service, ServicePort, TrafficPolicy};
use crate::settings::OtherClusters;

/// Endpoints of a group. Open vSwitch (3.1) cannot tell what is in groups of more than 4,090 buckets.
pub(crate) const MAX_ENDPOINTS: usize = 4000;

/// What the switch has for a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServicePlan {
    /// Groups of endpoints.
    pub groups: Vec<EndpointGroup>,
    /// Addresses and ports.
    pub frontends: Vec<Frontend>,
    /// From where some of them may be reached.
    pub admitted_sources: Vec<AdmittedSources>,
    /// Endpoints.
    pub backends: BTreeSet<Backend>,
}

/// Whose endpoints a group has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// All Nodes'.
    Cluster,
    /// This Node's.
    Local,
}

/// What a Service's group is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct GroupKey {
    /// The Service's protocol.
    pub protocol: Protocol,
    /// The Service's port.
    pub port: u16,
    /// The family of the endpoints.
    pub family: IpFamily,
    /// Whose endpoints.
    pub scope: Scope,
}

impl GroupKey {
    const fn new(port: &ServicePort, family: IpFamily, scope: Scope) -> Self {
        Self { protocol: port.protocol, port: port.port, family, scope }
    }
}

/// A port of a Service in one family, all that its part of the plan depends on.
pub(crate) struct PortPlan<'a> {
    /// The Service.
    pub service: &'a Service,
    /// The port.
    pub port: &'a ServicePort,
    /// The family.
    pub family: IpFamily,
    /// The addresses that are the Service's.
    pub addresses: &'a [Address],
    /// Its endpoints.
    pub selected: &'a Selected,
    /// Whether it has clients in other clusters.
    pub other_clusters: OtherClusters,
}

/// What a port needs of others to be planned.
pub(crate) trait Surroundings {
    /// The number of a group of the Service.
    fn group(&mut self, key: GroupKey) -> Option<GroupId>;
    /// The group of another Service's ClusterIP and port, if an endpoint is one.
    fn nested(&mut self, protocol: Protocol, address: SocketAddr) -> Option<GroupId>;
    /// Whether the address is a Node's own, not a Pod's.
    fn is_of_node(&self, address: &IpAddr) -> bool;
}

impl PortPlan<'_> {
    /// The groups that the frontends need.
    pub(crate) fn scopes(&self) -> BTreeSet<Scope> {
        let of_address = |address: &Address| {
            let mut scopes = vec![scope(self.policy(address.class))];
            if self.has_exempt_clients(address.class) {
                scopes.push(Scope::Cluster);
            }
            if self.mode(address.class) == ForwardingMode::Dsr {
                scopes.push(Scope::Local);
            }
            scopes
        };
        self.addresses.iter().flat_map(of_address).collect()
    }

    /// Adds the port to the plan. None where a group has no number.
    pub(crate) fn add_to(&self, plan: &mut ServicePlan, surroundings: &mut impl Surroundings) -> Option<()> {
        plan.admitted_sources
            .extend(self.addresses.iter().filter_map(|address| self.admitted_sources(address)));
        let mut nested = false;
        for scope in self.scopes() {
            let id = surroundings.group(self.key(scope))?;
            let group = self.group(id, scope, surroundings);
            for endpoint in &group.endpoints {
                let backend = self.backend(endpoint.address, surroundings);
                nested |= matches!(backend, Backend::Nested { .. });
                plan.backends.insert(backend);
            }
            plan.groups.push(group);
        }
        let endpoints = if nested { EndpointKind::Nested } else { EndpointKind::Direct };
        plan.frontends.extend(self.frontends(endpoints, surroundings)?);
        Some(())
    }

    /// The frontends of the port. None where a group has no number.
    pub(crate) fn frontends(
        &self,
        endpoints: EndpointKind,
        surroundings: &mut impl Surroundings,
    ) -> Option<Vec<Frontend>> {
        self.addresses.iter().map(|address| self.frontend(address, endpoints, surroundings)).collect()
    }

    /// From where an address may be reached; nothing where from everywhere.
    fn admitted_sources(&self, address: &Address) -> Option<AdmittedSources> {
        let ranges = self.service.source_ranges.as_ref()?;
        let Destination::Address(destination) = address.destination else { return None };
        let restricted = address.class == AddressClass::External
            && self.service.load_balancer_ips.contains(&destination.ip());
        restricted.then(|| AdmittedSources {
            protocol: self.port.protocol,
            destination,
            ranges: ranges.of(self.family),
            node: ranges.node(self.family),
        })
    }

    const fn key(&self, scope: Scope) -> GroupKey {
        GroupKey::new(self.port, self.family, scope)
    }

    const fn policy(&self, class: AddressClass) -> TrafficPolicy {
        match class {
            AddressClass::ClusterIp => self.service.internal_policy,
            AddressClass::NodePort | AddressClass::External => self.service.external_policy,
        }
    }

    /// Whether some clients get endpoints of all Nodes although the policy is Local: of external addresses those that have no
    /// source to preserve, of ClusterIPs those in other clusters, which are near to no Node.
    fn has_exempt_clients(&self, class: AddressClass) -> bool {
        let exempt = class != AddressClass::ClusterIp || self.other_clusters == OtherClusters::On;
        exempt && self.policy(class) == TrafficPolicy::Local
    }

    /// Answers from a NodePort have the Node's address, which only the Node can give them.
    const fn mode(&self, class: AddressClass) -> ForwardingMode {
        match class {
            AddressClass::External => self.service.mode,
            AddressClass::ClusterIp | AddressClass::NodePort => ForwardingMode::Nat,
        }
    }

    /// The mode of the groups: that of the addresses that have another than the usual one.
    fn group_mode(&self) -> GroupMode {
        let direct = self.addresses.iter().any(|address| self.mode(address.class) == ForwardingMode::Dsr);
        if direct { GroupMode::Dsr } else { GroupMode::Nat }
    }

    fn group(&self, id: GroupId, scope: Scope, surroundings: &impl Surroundings) -> EndpointGroup {
        let selected = match scope {
            Scope::Cluster => &self.selected.cluster,
            Scope::Local => &self.selected.local,
        };
        let mode = self.group_mode();
        let endpoint = |(address, node): &(SocketAddr, EndpointNode)| Endpoint {
            address: *address,
            place: place(*node, mode, surroundings.is_of_node(&address.ip())),
        };
        EndpointGroup {
            id,
            family: self.family,
            endpoints: selected.iter().take(MAX_ENDPOINTS).map(endpoint).collect(),
            affinity: self.service.affinity,
            mode,
        }
    }

    fn backend(&self, address: SocketAddr, surroundings: &mut impl Surroundings) -> Backend {
        let protocol = self.port.protocol;
        match surroundings.nested(protocol, address) {
            Some(group) => Backend::Nested { protocol, address, group },
            None => Backend::Translated { protocol, address },
        }
    }

    fn frontend(
        &self,
        address: &Address,
        endpoints: EndpointKind,
        surroundings: &mut impl Surroundings,
    ) -> Option<Frontend> {
        let all = if self.has_exempt_clients(address.class) {
            Some(surroundings.group(self.key(Scope::Cluster))?)
        } else {
            None
        };
        let origin = match address.class {
            AddressClass::ClusterIp => Origin::Internal { other_clusters: all },
            AddressClass::NodePort | AddressClass::External => Origin::External { short_circuit: all },
        };
        let mode = match self.mode(address.class) {
            ForwardingMode::Nat => LoadBalancerMode::Nat,
            ForwardingMode::Dsr => {
                LoadBalancerMode::Dsr { local_group: surroundings.group(self.key(Scope::Local))? }
            }
        };
        Some(Frontend {
            protocol: self.port.protocol,
            destination: address.destination,
            origin,
            group: surroundings.group(self.key(scope(self.policy(address.class))))?,
            affinity: self.service.affinity,
            endpoints,
            mode,
        })
    }
}

const fn scope(policy: TrafficPolicy) -> Scope {
    match policy {
        TrafficPolicy::Cluster => Scope::Cluster,
        TrafficPolicy::Local => Scope::Local,
    }
}

/// Only a Pod of another Node can get a packet as it came, which is what the place decides where answers go directly.
const fn place(node: EndpointNode, mode: GroupMode, is_of_node: bool) -> EndpointPlace {
    match (node, mode) {
        (EndpointNode::This, _) | (EndpointNode::Unknown, GroupMode::Dsr) => EndpointPlace::ThisNode,
        (EndpointNode::Other | EndpointNode::Unknown, _) if is_of_node => EndpointPlace::ThisNode,
        (EndpointNode::Other, _) | (EndpointNode::Unknown, GroupMode::Nat) => EndpointPlace::Elsewhere,
    }
}

//! Plans one Service anew.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use antrea_openflow::GroupId;
use antrea_pipeline::Pipeline;
use antrea_pipeline::service::{Destination, EndpointKind};
use antrea_types::{IpFamily, Protocol};

use crate::addresses::{Address, addresses};
use crate::claims::Claims;
use crate::group_ids::GroupIds;
use crate::health::HealthCheck;
use crate::plan::{GroupKey, MAX_ENDPOINTS, PortPlan, Scope, ServicePlan, Surroundings};
use crate::problem::Problem;
use crate::proxy::{Change, Entry, Proxy};
use crate::select::{Selected, select};
use crate::service::{Service, ServicePort, TrafficPolicy};
use crate::service_name::ServiceName;
use crate::settings::{LoadBalancerAddresses, OtherClusters};
use crate::stale_udp::UdpEndpoints;

/// A port in one family, before it is planned.
struct Part {
    port: ServicePort,
    family: IpFamily,
    addresses: Vec<Address>,
    selected: Selected,
}

impl Proxy {
    pub(crate) fn plan(&mut self, name: ServiceName, pipeline: &Pipeline) -> Change {
        let service = self.services.get(&name).and_then(|entry| entry.service.clone());
        let mut change = Change {
            uid: service.as_ref().map(|service| service.uid.clone()).unwrap_or_default(),
            plan: ServicePlan::default(),
            stale: Vec::new(),
            health: None,
            problems: Vec::new(),
            service: name,
        };
        let mut udp = UdpEndpoints::default();
        let mut used = BTreeSet::new();
        if let Some(service) = service {
            let parts = self.parts(&service, &mut change);
            for part in &parts {
                self.plan_part(&service, part, pipeline, &mut change, &mut used);
                note_udp(part, &mut udp);
            }
            change.health = health(&service, &change.service, &parts);
            change.problems.extend(self.source_problems(&service));
        }
        self.finish(&mut change, udp, &used);
        change
    }

    /// The ports of a Service in each family, with the addresses that are its own.
    fn parts(&self, service: &Service, change: &mut Change) -> Vec<Part> {
        let mut parts = Vec::new();
        let name = &change.service;
        let slices = || self.services.get(name).into_iter().flat_map(|entry| entry.slices.values());
        let refused: BTreeSet<IpAddr> = slices().flat_map(|slice| slice.refused.iter().copied()).collect();
        change.problems.extend(refused.into_iter().map(Problem::RefusedEndpoint));
        for family in service.cluster_ips.families() {
            for port in &service.ports {
                let mut own = addresses(service, port, family, &self.settings);
                own.retain(|address| match self.claims.owner(&(port.protocol, address.destination)) {
                    Some(owner) if owner != name => {
                        change.problems.push(Problem::Taken {
                            protocol: port.protocol,
                            destination: address.destination,
                            owner: owner.clone(),
                        });
                        false
                    }
                    _ => true,
                });
                let selected = select(port, family, slices(), &self.location);
                let count = selected.cluster.len();
                change.problems.extend((count > MAX_ENDPOINTS).then_some(Problem::TooManyEndpoints(count)));
                parts.push(Part { port: port.clone(), family, addresses: own, selected });
            }
        }
        parts
    }

    /// What is wrong with the source ranges of a load balancer whose addresses are served here.
    fn source_problems(&self, service: &Service) -> Vec<Problem> {
        let Some(ranges) = &service.source_ranges else { return Vec::new() };
        let served = self.settings.load_balancer_addresses == LoadBalancerAddresses::Served;
        let of_load_balancer: BTreeSet<IpFamily> =
            service.load_balancer_ips.iter().map(IpFamily::of).collect();
        let families: Vec<IpFamily> =
            service.cluster_ips.families().filter(|family| of_load_balancer.contains(family)).collect();
        if !served || families.is_empty() {
            return Vec::new();
        }
        ranges.problems(families)
    }

    fn plan_part(
        &mut self,
        service: &Service,
        part: &Part,
        pipeline: &Pipeline,
        change: &mut Change,
        used: &mut BTreeSet<GroupKey>,
    ) {
        let plan = PortPlan {
            service,
            port: &part.port,
            family: part.family,
            addresses: &part.addresses,
            selected: &part.selected,
            other_clusters: self.settings.other_clusters,
        };
        let key = |scope| GroupKey {
            protocol: part.port.protocol,
            port: part.port.port,
            family: part.family,
            scope,
        };
        let scopes = plan.scopes();
        used.extend(scopes.iter().map(|scope| key(*scope)));
        let earlier = self.earlier_groups(&plan, pipeline);
        let mut lookup = Lookup {
            name: &change.service,
            earlier,
            services: &mut self.services,
            ids: &mut self.group_ids,
            claims: &self.claims,
            node_addresses: &self.node_addresses,
            other_clusters: self.settings.other_clusters,
        };
        if plan.add_to(&mut change.plan, &mut lookup).is_none() {
            change.problems.push(Problem::NoGroup);
        }
    }

    /// The numbers that an earlier agent gave to the groups of a port.
    fn earlier_groups(&self, plan: &PortPlan<'_>, pipeline: &Pipeline) -> BTreeMap<Scope, GroupId> {
        let mut earlier = BTreeMap::new();
        for frontend in plan.frontends(EndpointKind::Direct, &mut MadeUp).into_iter().flatten() {
            for (made_up, id) in self.adoption.of(pipeline, &frontend) {
                let scope = if made_up == CLUSTER { Scope::Cluster } else { Scope::Local };
                earlier.entry(scope).or_insert(id);
            }
        }
        earlier
    }

    /// Gives back what the Service does not need any more, and forgets the Service if it is gone.
    fn finish(&mut self, change: &mut Change, udp: UdpEndpoints, used: &BTreeSet<GroupKey>) {
        let Some(entry) = self.services.get_mut(&change.service) else { return };
        change.stale = udp.stale_since(&entry.udp);
        entry.udp = udp;
        let unused: Vec<GroupKey> = entry.groups.keys().filter(|key| !used.contains(key)).copied().collect();
        for id in unused.iter().filter_map(|key| entry.groups.remove(key)) {
            self.group_ids.release(&change.service, id);
        }
        let name = change.service.clone();
        self.forget_if_empty(&name);
    }
}

const CLUSTER: GroupId = GroupId(1);
const LOCAL: GroupId = GroupId(2);

/// Numbers that say no more than whose endpoints a group has: enough to tell which flow leads to which group.
struct MadeUp;

impl Surroundings for MadeUp {
    fn group(&mut self, key: GroupKey) -> Option<GroupId> {
        Some(match key.scope {
            Scope::Cluster => CLUSTER,
            Scope::Local => LOCAL,
        })
    }

    fn nested(&mut self, _: Protocol, _: SocketAddr) -> Option<GroupId> {
        None
    }

    fn is_of_node(&self, _: &IpAddr) -> bool {
        false
    }
}

fn note_udp(part: &Part, udp: &mut UdpEndpoints) {
    if part.port.protocol != Protocol::Udp {
        return;
    }
    for address in &part.addresses {
        let port = match address.destination {
            Destination::Address(address) => address.port(),
            Destination::NodePort { port, .. } => port,
        };
        let endpoints = part.selected.cluster.iter().chain(&part.selected.local);
        udp.add(port, endpoints.map(|(endpoint, _)| *endpoint));
    }
}

fn health(service: &Service, name: &ServiceName, parts: &[Part]) -> Option<HealthCheck> {
    Some(HealthCheck {
        port: service.health_check_port?,
        service: name.clone(),
        local_endpoints: parts.iter().map(|part| part.selected.local_ready).max().unwrap_or(0),
    })
}

/// What planning a port needs of the others.
struct Lookup<'a> {
    name: &'a ServiceName,
    earlier: BTreeMap<Scope, GroupId>,
    services: &'a mut BTreeMap<ServiceName, Entry>,
    ids: &'a mut GroupIds,
    claims: &'a Claims,
    node_addresses: &'a BTreeSet<IpAddr>,
    other_clusters: OtherClusters,
}

impl Lookup<'_> {
    fn group_of(&mut self, name: &ServiceName, key: GroupKey, earlier: Option<GroupId>) -> Option<GroupId> {
        let entry = self.services.get_mut(name)?;
        if let Some(id) = entry.groups.get(&key) {
            return Some(*id);
        }
        let adopted = earlier.filter(|id| self.ids.adopt(*id));
        let id = adopted.or_else(|| self.ids.take())?;
        entry.groups.insert(key, id);
        Some(id)
    }
}

impl Surroundings for Lookup<'_> {
    fn group(&mut self, key: GroupKey) -> Option<GroupId> {
        let earlier = self.earlier.get(&key.scope).copied();
        self.group_of(self.name, key, earlier)
    }

    fn nested(&mut self, protocol: Protocol, address: SocketAddr) -> Option<GroupId> {
        let owner = self.claims.owner(&(protocol, Destination::Address(address)))?.clone();
        let service: Arc<Service> = self.services.get(&owner)?.service.clone()?;
        let family = IpFamily::of(&address.ip());
        if service.cluster_ips.get(family) != Some(&address.ip()) {
            return None;
        }
        // Services of a ClusterSet promise all endpoints, whatever those that they stand for promise their own clients.
        let scope = match (service.internal_policy, self.other_clusters) {
            (TrafficPolicy::Local, OtherClusters::Off) => Scope::Local,
            (TrafficPolicy::Local, OtherClusters::On) | (TrafficPolicy::Cluster, _) => Scope::Cluster,
        };
        self.group_of(&owner, GroupKey { protocol, port: address.port(), family, scope }, None)
    }

    fn is_of_node(&self, address: &IpAddr) -> bool {
        self.node_addresses.contains(address)
    }
}

//! All Services and EndpointSlices, and which Services have to be planned anew when one of them changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use antrea_hostplan::HostServices;
use antrea_openflow::GroupId;
use antrea_pipeline::Pipeline;
use ipnet::IpNet;

use crate::addresses;
use crate::adoption::Adoption;
use crate::claims::{Claims, Rank};
use crate::endpoint_slice::{EndpointNode, Slice};
use crate::group_ids::GroupIds;
use crate::health::HealthCheck;
use crate::host::{HostAddress, HostCounts};
use crate::plan::{GroupKey, ServicePlan};
use crate::problem::Problem;
use crate::select::Location;
use crate::service::Service;
use crate::service_name::{ServiceName, SliceName};
use crate::settings::{ExternalServices, Settings};
use crate::stale_udp::{StaleUdp, UdpEndpoints};

/// What is known of a Service.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    pub(crate) service: Option<Arc<Service>>,
    pub(crate) slices: BTreeMap<SliceName, Slice>,
    pub(crate) groups: BTreeMap<GroupKey, GroupId>,
    pub(crate) udp: UdpEndpoints,
}

/// What a Service needs now, whatever it needed before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The Service.
    pub service: ServiceName,
    /// The identity of the object, for Events; empty where it is gone.
    pub uid: Box<str>,
    /// What the switch has for it; nothing where it is gone.
    pub plan: ServicePlan,
    /// UDP connections to forget, once the switch has that.
    pub stale: Vec<StaleUdp>,
    /// What load balancers are told of it.
    pub health: Option<HealthCheck>,
    /// What users have to be told of it.
    pub problems: Vec<Problem>,
}

/// The proxy of a Node. It decides; it does nothing.
#[derive(Debug)]
pub struct Proxy {
    pub(crate) settings: Settings,
    pub(crate) location: Location,
    pub(crate) services: BTreeMap<ServiceName, Entry>,
    /// The Service of each EndpointSlice.
    slices: HashMap<SliceName, ServiceName>,
    /// Services by their endpoints that are on no Node: those may be ClusterIPs of other Services.
    unplaced: BTreeMap<IpAddr, BTreeSet<ServiceName>>,
    pub(crate) claims: Claims,
    pub(crate) group_ids: GroupIds,
    pub(crate) adoption: Adoption,
    pub(crate) node_addresses: BTreeSet<IpAddr>,
    host: HostCounts,
    changed: BTreeSet<ServiceName>,
}

impl Proxy {
    /// A proxy that knows of no Service. `present` are the groups on the switch, and what leads to them.
    pub fn new(settings: Settings, present: impl IntoIterator<Item = GroupId>, adoption: Adoption) -> Self {
        let location =
            Location { node: settings.node.as_str().into(), zone: None, node_hints: settings.node_hints };
        Self {
            settings,
            location,
            services: BTreeMap::new(),
            slices: HashMap::new(),
            unplaced: BTreeMap::new(),
            claims: Claims::default(),
            group_ids: GroupIds::new(present),
            adoption,
            node_addresses: BTreeSet::new(),
            host: HostCounts::default(),
            changed: BTreeSet::new(),
        }
    }

    /// What it was told at the start.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What the kernel has to know.
    pub fn host_services(&self) -> HostServices {
        self.host.services()
    }

    /// Where UDP connections to Services may lead.
    pub fn udp_endpoints(&self) -> BTreeSet<SocketAddr> {
        self.services.values().flat_map(|entry| entry.udp.endpoints()).collect()
    }

    /// The Node is in another zone than before.
    pub fn set_zone(&mut self, zone: Option<&str>) {
        if self.location.zone.as_deref() != zone {
            self.location.zone = zone.map(Into::into);
            self.all_changed();
        }
    }

    /// These are the addresses of all Nodes.
    pub fn set_node_addresses(&mut self, addresses: BTreeSet<IpAddr>) {
        if self.node_addresses != addresses {
            self.node_addresses = addresses;
            self.all_changed();
        }
    }

    /// What Services stand on is another: all are planned anew.
    pub fn all_changed(&mut self) {
        self.changed.extend(self.services.keys().cloned());
    }

    /// These are all Services.
    pub fn replace_services(&mut self, all: Vec<(ServiceName, Option<Service>)>) {
        let present: BTreeSet<ServiceName> = all.iter().map(|(name, _)| name.clone()).collect();
        let gone =
            self.services.iter().filter(|(name, entry)| entry.service.is_some() && !present.contains(*name));
        for name in gone.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            self.set_service(name, None);
        }
        all.into_iter().for_each(|(name, service)| self.set_service(name, service));
    }

    /// A Service is like this now; nothing where it is gone or left alone.
    pub fn set_service(&mut self, name: ServiceName, service: Option<Service>) {
        let entry = self.services.entry(name.clone()).or_default();
        if entry.service.as_deref() == service.as_ref() {
            self.forget_if_empty(&name);
            return;
        }
        let before = std::mem::replace(&mut entry.service, service.map(Arc::new));
        let after = entry.service.clone();
        let claims =
            after.as_ref().map(|service| addresses::claims(service, &self.settings)).unwrap_or_default();
        self.changed.extend(self.claims.set(&name, claims));
        for service in [before.as_ref(), after.as_ref()].into_iter().flatten() {
            let users = service.cluster_ips.iter().filter_map(|ip| self.unplaced.get(ip));
            self.changed.extend(users.flatten().cloned());
        }
        after.iter().for_each(|service| self.count(service, HostCounts::add));
        before.iter().for_each(|service| self.count(service, HostCounts::remove));
        self.changed.insert(name);
    }

    /// The host has a part in Services only where the agent serves all of them.
    fn count(&mut self, service: &Service, count: fn(&mut HostCounts, HostAddress)) {
        if self.settings.external == ExternalServices::ByHost {
            return;
        }
        service.cluster_ips.iter().for_each(|ip| count(&mut self.host, HostAddress::ClusterIp(*ip)));
        for ((protocol, destination), rank) in addresses::claims(service, &self.settings) {
            if rank != Rank::ClusterIp {
                count(&mut self.host, HostAddress::of(protocol, destination));
            }
        }
    }

    /// These are all ServiceCIDRs.
    pub fn replace_service_cidrs(&mut self, all: Vec<(Box<str>, Vec<IpNet>)>) {
        self.host.replace_service_cidrs(all);
    }

    /// A ServiceCIDR has these networks now; none where it is gone.
    pub fn set_service_cidr(&mut self, name: Box<str>, networks: Vec<IpNet>) {
        self.host.set_service_cidr(name, networks);
    }

    /// These are all EndpointSlices.
    pub fn replace_slices(&mut self, all: Vec<(SliceName, Option<Slice>)>) {
        let present: BTreeSet<SliceName> = all.iter().map(|(name, _)| name.clone()).collect();
        let gone: Vec<SliceName> =
            self.slices.keys().filter(|name| !present.contains(*name)).cloned().collect();
        gone.into_iter().for_each(|name| self.set_slice(name, None));
        all.into_iter().for_each(|(name, slice)| self.set_slice(name, slice));
    }

    /// An EndpointSlice is like this now; nothing where it is gone or no Service's.
    pub fn set_slice(&mut self, name: SliceName, slice: Option<Slice>) {
        let service = self.slices.get(&name);
        let before = service.and_then(|service| self.services.get(service)?.slices.get(&name));
        if before == slice.as_ref() {
            return;
        }
        let services = self
            .slices
            .get(&name)
            .cloned()
            .into_iter()
            .chain(slice.as_ref().map(|slice| slice.service.clone()));
        let affected: BTreeSet<ServiceName> = services.collect();
        let unplaced: Vec<_> =
            affected.iter().map(|service| (service.clone(), self.unplaced_of(service))).collect();
        if let Some(service) = self.slices.remove(&name)
            && let Some(entry) = self.services.get_mut(&service)
        {
            entry.slices.remove(&name);
        }
        if let Some(slice) = slice {
            self.slices.insert(name.clone(), slice.service.clone());
            self.services.entry(slice.service.clone()).or_default().slices.insert(name, slice);
        }
        unplaced.iter().for_each(|(service, before)| self.note_unplaced(service, before));
        self.note_api_servers(&affected);
        self.changed.extend(affected);
    }

    /// The endpoints of the Service `kubernetes` are where the API server is.
    fn note_api_servers(&mut self, affected: &BTreeSet<ServiceName>) {
        let name = ServiceName::new("default", "kubernetes");
        if !affected.contains(&name) {
            return;
        }
        let slices = self.services.get(&name).into_iter().flat_map(|entry| entry.slices.values());
        let endpoints = slices.flat_map(|slice| slice.endpoints.iter().map(|endpoint| endpoint.address));
        self.host.set_api_servers(endpoints.collect());
    }

    /// The endpoints of a Service that are on no Node.
    fn unplaced_of(&self, service: &ServiceName) -> BTreeSet<IpAddr> {
        let slices = self.services.get(service).into_iter().flat_map(|entry| entry.slices.values());
        let endpoints = slices.flat_map(|slice| &slice.endpoints);
        let unplaced = endpoints.filter(|endpoint| endpoint.node == EndpointNode::Unknown);
        unplaced.map(|endpoint| endpoint.address).collect()
    }

    /// Notes them, and forgets those that were `before`.
    fn note_unplaced(&mut self, service: &ServiceName, before: &BTreeSet<IpAddr>) {
        let now = self.unplaced_of(service);
        for address in before.difference(&now) {
            let Some(users) = self.unplaced.get_mut(address) else { continue };
            users.remove(service);
            if users.is_empty() {
                self.unplaced.remove(address);
            }
        }
        for address in now.difference(before) {
            self.unplaced.entry(*address).or_default().insert(service.clone());
        }
    }

    /// Whether there is something to be done.
    pub fn has_changes(&self) -> bool {
        !self.changed.is_empty()
    }

    /// What has to be done for Services that changed, `limit` of them at most. Those that lead to other Services come
    /// after those: the switch takes no flow to a group that is not there.
    pub fn take_changes(&mut self, pipeline: &Pipeline, limit: usize) -> Vec<Change> {
        let alone = self.changed.iter().filter(|name| self.unplaced_of(name).is_empty());
        let mut names: Vec<ServiceName> = alone.take(limit).cloned().collect();
        if names.is_empty() {
            names = self.changed.iter().take(limit).cloned().collect();
        }
        names.iter().for_each(|name| {
            self.changed.remove(name);
        });
        let changes = names.into_iter().map(|name| self.plan(name, pipeline)).collect();
        if self.changed.is_empty() {
            self.adoption = Adoption::default();
        }
        changes
    }

    /// The switch has what the Service needs.
    pub fn settle(&mut self, service: &ServiceName) {
        self.group_ids.settle(service);
    }

    /// The switch did not take what the Service needs.
    pub fn try_again(&mut self, service: ServiceName) {
        self.changed.insert(service);
    }

    /// What an earlier agent left is gone from the switch.
    pub fn forget_earlier(&mut self) {
        self.group_ids.forget_foreign();
    }

    pub(crate) fn forget_if_empty(&mut self, name: &ServiceName) {
        if self.services.get(name).is_some_and(|entry| entry.service.is_none() && entry.slices.is_empty()) {
            self.services.remove(name);
        }
    }
}

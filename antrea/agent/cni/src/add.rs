//! ADD: addresses, link, port, flows, announcement. What fails undoes all that came before it.

use std::net::IpAddr;
use std::sync::Arc;

use antrea_cni::error::CniError;
use antrea_cni::proto::ErrorCode;
use antrea_ovs::ovsdb::PortSpec;
use antrea_types::{InterfaceName, OfPort};
use futures::join;
use tracing::{info, warn};

use crate::commands::{Commands, failed};
use crate::host_interface_name::host_interface_name;
use crate::interface::{ContainerInterface, InterfaceKind};
use crate::interface_store::StoredContainer;
use crate::ipam::{Allocation, Owner};
use crate::request::AttachRequest;
use crate::result::{AddResult, End};

impl Commands {
    pub(crate) async fn add(self: &Arc<Self>, request: &AttachRequest) -> Result<AddResult, CniError> {
        refuse_chaining(request)?;
        let name =
            host_interface_name(&request.pod.name, &request.target.container_id, &request.target.interface);
        let name =
            name.map_err(|error| CniError::from_chain(ErrorCode::InvalidEnvironmentVariables, &error))?;

        let _guard = self.locks.lock(&request.target.container_id).await;
        let owner = request.target.owner();
        if let Some(result) = self.repeated(request, &owner).await? {
            info!(pod = %request.pod, interface = %name, "Pod was attached already");
            return Ok(result);
        }
        if let Some(other) = self.held_by_other(&name, &owner) {
            return Err(name_taken(&name, &other));
        }
        let allocations = self.with_ipam(|ipam| ipam.allocate(&owner)).await?;
        // A container that comes back has the addresses that it had.
        self.open(&addresses(&allocations).collect::<Vec<_>>());
        match self.attach(request, &name, allocations).await {
            Ok(result) => {
                let ips =
                    addresses(&result.allocations).map(|ip| ip.to_string()).collect::<Vec<_>>().join(",");
                info!(pod = %request.pod, interface = %name, ips, "Attached Pod");
                Ok(result)
            }
            Err(error) => {
                if let Err(rollback) = self.detach(&request.target, Some(&request.pod)).await {
                    warn!(pod = %request.pod, error = %rollback, "Rollback is incomplete; DEL goes on with it");
                }
                Err(error)
            }
        }
    }

    /// The result of an earlier ADD of the same container, when all that it made is still there. Flows are installed
    /// again: nothing tells whether that ADD got so far. What is damaged is removed, but for the addresses.
    async fn repeated(&self, request: &AttachRequest, owner: &Owner) -> Result<Option<AddResult>, CniError> {
        let Some(stored) = self.node.store.by_container(owner) else { return Ok(None) };
        let allocations = self.allocations_of(&stored);
        let same_pod =
            stored.container.pod == request.pod && stored.container.netns == self.netns_path(request);
        let ends = match same_pod && self.missing(&stored).await?.is_empty() {
            true => self.intact_link(&stored, &allocations, self.mtu(request)).await?,
            false => None,
        };
        let (Some(host), Some(_)) = (ends, stored.of_port) else {
            self.remove_port(&stored.name).await?;
            self.delete_link(&stored.name).await?;
            return Ok(None);
        };
        self.install_flows(&stored).await?;
        let pod = End { name: stored.container.interface, mac: stored.container.mac };
        Ok(Some(self.result(request, host, pod, allocations)))
    }

    async fn attach(
        &self,
        request: &AttachRequest,
        name: &InterfaceName,
        allocations: Vec<Allocation>,
    ) -> Result<AddResult, CniError> {
        let (host, pod) = self.create_link(request, name, &allocations).await?;
        let container = ContainerInterface {
            pod: request.pod.clone(),
            pod_uid: request.pod_uid.clone(),
            container_id: request.target.container_id.clone(),
            interface: request.target.interface.clone(),
            mac: pod.mac,
            ips: addresses(&allocations).collect(),
            netns: self.netns_path(request),
        };
        let stored = self.connect(name, container).await?;
        self.announce(stored.container);
        Ok(self.result(request, host, pod, allocations))
    }

    /// Makes port and flows at the same time: the port asks for a number that the flows have already. Where
    /// ovs-vswitchd assigned another one, which somebody else's port may make it do, the flows follow.
    async fn connect(
        &self,
        name: &InterfaceName,
        container: ContainerInterface,
    ) -> Result<StoredContainer, CniError> {
        let number = self.free_number(name)?;
        let asked = StoredContainer { name: name.clone(), of_port: Some(number), container };
        // Both come to an end before either's failure is told: what is undone then stays undone.
        let (assigned, installed) = join!(self.create_port(&asked, number), self.install_flows(&asked));
        let stored = StoredContainer { of_port: Some(assigned?), ..asked.clone() };
        installed?;
        self.node.store.insert(stored.clone().into());
        if stored != asked {
            self.install_flows(&stored).await?;
        }
        Ok(stored)
    }

    /// A number that neither a port has, nor a Pod whose port is about to be made again.
    pub(crate) fn free_number(&self, name: &InterfaceName) -> Result<OfPort, CniError> {
        let ports = self.node.ovsdb.ports(&self.settings.bridge);
        let ports = ports.map_err(|error| failed("cannot create the port", name, &error))?;
        let of_ports = ports.iter().flat_map(|port| port.interface.numbers());
        let in_use = of_ports.chain(self.node.store.of_ports()).collect();
        self.port_numbers.next(&in_use).ok_or_else(|| {
            let message = format!("bridge {} has no free port number for {name}", self.settings.bridge);
            CniError::new(ErrorCode::ConfigInterfaceFailure, message)
        })
    }

    pub(crate) async fn create_port(
        &self,
        asked: &StoredContainer,
        number: OfPort,
    ) -> Result<OfPort, CniError> {
        let kind = InterfaceKind::Container(asked.container.clone());
        let mut external_ids = kind.to_external_ids();
        external_ids.extend(self.node.flows.notes(&asked.name));
        let spec =
            PortSpec { external_ids, ofport_request: Some(number), ..PortSpec::system(asked.name.as_str()) };
        let assigned = self.node.ovsdb.ensure_port(&self.settings.bridge, &spec).await;
        assigned.map_err(|error| failed("cannot create the port", &asked.name, &error))
    }

    /// Where the agent sees the Pod's network namespace.
    pub(crate) fn netns_path(&self, request: &AttachRequest) -> String {
        format!("{}{}", self.settings.host_proc_path_prefix, request.netns)
    }

    pub(crate) fn mtu(&self, request: &AttachRequest) -> u32 {
        request.config.mtu.unwrap_or(self.settings.mtu)
    }

    fn result(
        &self,
        request: &AttachRequest,
        host: End,
        pod: End,
        allocations: Vec<Allocation>,
    ) -> AddResult {
        AddResult {
            host,
            pod,
            mtu: self.mtu(request),
            sandbox: request.netns.clone(),
            allocations,
            dns: request.config.dns.clone(),
        }
    }

    /// The addresses of an interface with the networks they are from; without those of former Pod CIDRs.
    pub(crate) fn allocations_of(&self, stored: &StoredContainer) -> Vec<Allocation> {
        let ranges = self.ipam.ranges();
        let allocation = |ip: &IpAddr| ranges.iter().find_map(|range| range.allocation(*ip));
        stored.container.ips.iter().filter_map(allocation).collect()
    }
}

fn addresses(allocations: &[Allocation]) -> impl Iterator<Item = IpAddr> {
    allocations.iter().map(|allocation| allocation.address.addr())
}

/// What another plugin made is not taken over: Pods get the agent's own interface, or none.
fn refuse_chaining(request: &AttachRequest) -> Result<(), CniError> {
    match &request.config.prev_result {
        None => Ok(()),
        Some(result) => Err(CniError::new(
            ErrorCode::UnsupportedField,
            format!(
                "prevResult {result} is not supported by ADD: plugin \"antrea\" must be the first one of the list"
            ),
        )),
    }
}

fn name_taken(name: &InterfaceName, other: &StoredContainer) -> CniError {
    let message =
        format!("interface name {name} is in use by Pod {}: create the Pod again", other.container.pod);
    CniError::new(ErrorCode::ConfigInterfaceFailure, message)
}

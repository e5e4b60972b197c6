//! All interfaces of the Node's bridge in memory, found by name, container, Pod, port number and address.
//!
//! It is built from OVSDB at start, and from then on changed only by who changes OVSDB: the CNI server for Pods, the
//! agent's start-up for gateway, tunnel and uplink.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use antrea_pipeline::PodInterface;
use antrea_types::{InterfaceName, OfPort, PodRef};

use crate::interface::{ContainerInterface, Interface, InterfaceKind};
use crate::ipam::Owner;

/// The store; clones are handles of the same store.
#[derive(Clone, Debug, Default)]
pub struct InterfaceStore(Arc<RwLock<Indexes>>);

/// Interfaces by name, and their names by what else is asked for.
#[derive(Debug, Default)]
struct Indexes {
    interfaces: BTreeMap<InterfaceName, Interface>,
    containers: BTreeMap<Owner, InterfaceName>,
    ports: BTreeMap<OfPort, InterfaceName>,
    ips: BTreeMap<IpAddr, InterfaceName>,
}

/// A Pod's interface with its name and number on the bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredContainer {
    /// The name on the Node.
    pub name: InterfaceName,
    /// The number on the bridge; none while OVS could not open the device.
    pub of_port: Option<OfPort>,
    /// The interface.
    pub container: ContainerInterface,
}

impl InterfaceStore {
    /// Adds an interface, in place of one of the same name.
    pub fn insert(&self, interface: Interface) {
        let mut indexes = self.write();
        indexes.remove(&interface.name);
        indexes.insert(interface);
    }

    /// Notes the number that a port has, and returns the interface if that is news.
    pub fn set_of_port(&self, name: &InterfaceName, of_port: Option<OfPort>) -> Option<Interface> {
        if self.read().interfaces.get(name)?.of_port == of_port {
            return None;
        }
        let mut indexes = self.write();
        let mut interface = indexes.interfaces.get(name).filter(|known| known.of_port != of_port)?.clone();
        interface.of_port = of_port;
        indexes.remove(&interface.name);
        indexes.insert(interface.clone());
        Some(interface)
    }

    /// Removes an interface and returns it.
    pub fn remove(&self, name: &InterfaceName) -> Option<Interface> {
        self.write().remove(name)
    }

    /// The interface called `name`.
    pub fn get(&self, name: &InterfaceName) -> Option<Interface> {
        self.read().interfaces.get(name).cloned()
    }

    /// The interface of a container.
    pub fn by_container(&self, owner: &Owner) -> Option<StoredContainer> {
        let indexes = self.read();
        let interface = indexes.interfaces.get(indexes.containers.get(owner)?)?;
        StoredContainer::of(interface)
    }

    /// The interfaces of a Pod: more than one while an old sandbox is being removed, or with secondary networks.
    pub fn by_pod(&self, pod: &PodRef) -> Vec<StoredContainer> {
        self.containers().into_iter().filter(|stored| stored.container.pod == *pod).collect()
    }

    /// The interface with a number on the bridge.
    pub fn by_of_port(&self, of_port: OfPort) -> Option<Interface> {
        let indexes = self.read();
        indexes.ports.get(&of_port).and_then(|name| indexes.interfaces.get(name)).cloned()
    }

    /// The Pod's interface that has an address.
    pub fn by_ip(&self, ip: IpAddr) -> Option<StoredContainer> {
        let indexes = self.read();
        StoredContainer::of(indexes.interfaces.get(indexes.ips.get(&ip)?)?)
    }

    /// All interfaces of Pods, by name.
    pub fn containers(&self) -> Vec<StoredContainer> {
        self.read().interfaces.values().filter_map(StoredContainer::of).collect()
    }

    /// The interfaces of Pods that have none of these names.
    pub(crate) fn containers_but(&self, names: &BTreeSet<&str>) -> Vec<StoredContainer> {
        let indexes = self.read();
        let others = indexes.interfaces.values().filter(|interface| !names.contains(interface.name.as_str()));
        others.filter_map(StoredContainer::of).collect()
    }

    /// The numbers of all interfaces.
    pub(crate) fn of_ports(&self) -> Vec<OfPort> {
        self.read().ports.keys().copied().collect()
    }

    /// All interfaces, by name.
    pub fn all(&self) -> Vec<Interface> {
        self.read().interfaces.values().cloned().collect()
    }

    // No code panics while it holds the lock, and every change is whole: a poisoned lock guards good data.
    fn read(&self) -> RwLockReadGuard<'_, Indexes> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Indexes> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoredContainer {
    pub(crate) fn of(interface: &Interface) -> Option<Self> {
        let InterfaceKind::Container(container) = &interface.kind else { return None };
        Some(Self { name: interface.name.clone(), of_port: interface.of_port, container: container.clone() })
    }

    /// What its flows are made from; none while it has no number on the bridge.
    pub fn pod_interface(&self) -> Option<PodInterface> {
        let ContainerInterface { mac, ips, .. } = self.container;
        self.of_port.map(|of_port| PodInterface { of_port, mac, ips })
    }
}

impl From<StoredContainer> for Interface {
    fn from(stored: StoredContainer) -> Self {
        Self { name: stored.name, of_port: stored.of_port, kind: InterfaceKind::Container(stored.container) }
    }
}

impl Indexes {
    fn insert(&mut self, interface: Interface) {
        let name = &interface.name;
        if let Some(of_port) = interface.of_port {
            self.ports.insert(of_port, name.clone());
        }
        if let InterfaceKind::Container(container) = &interface.kind {
            self.containers.insert(container.owner(), name.clone());
            self.ips.extend(container.ips.iter().map(|ip| (*ip, name.clone())));
        }
        self.interfaces.insert(name.clone(), interface);
    }

    /// An index entry goes only while it points to the interface that goes: an address may have a new holder already.
    fn remove(&mut self, name: &InterfaceName) -> Option<Interface> {
        let interface = self.interfaces.remove(name)?;
        self.ports.retain(|_, holder| holder != name);
        self.containers.retain(|_, holder| holder != name);
        self.ips.retain(|_, holder| holder != name);
        Some(interface)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gateway() -> Interface {
        let name = "antrea-gw0".parse().unwrap();
        Interface { name, of_port: Some(OfPort::GATEWAY), kind: InterfaceKind::Gateway }
    }

    /// The interface of Pod `default/POD` in sandbox `container_id`.
    fn pod(pod: &str, container_id: &str, of_port: u32, ip: &str) -> Interface {
        let container = ContainerInterface {
            pod: PodRef { namespace: "default".into(), name: pod.into() },
            container_id: container_id.into(),
            interface: "eth0".parse().unwrap(),
            mac: "0a:00:00:00:00:01".parse().unwrap(),
            ips: [ip.parse::<IpAddr>().unwrap()].into_iter().collect(),
            netns: String::new(),
            pod_uid: None,
        };
        let name = format!("{pod}-{container_id}").parse().unwrap();
        Interface { name, of_port: Some(OfPort(of_port)), kind: InterfaceKind::Container(container) }
    }

    #[test]
    fn interfaces_are_found_by_everything_they_are_known_by() {
        let store = InterfaceStore::default();
        store.insert(gateway());
        store.insert(pod("a", "c1", 2, "10.0.0.2"));
        let found = store.by_container(&Owner::new("c1", "eth0")).unwrap();
        assert_eq!(found.name.as_str(), "a-c1");
        assert_eq!(store.by_ip("10.0.0.2".parse().unwrap()), Some(found.clone()));
        assert_eq!(store.by_pod(&found.container.pod), std::slice::from_ref(&found));
        assert_eq!(store.by_of_port(OfPort(2)), Some(found.into()));
        assert_eq!(store.by_of_port(OfPort::GATEWAY), Some(gateway()));
        assert_eq!(store.get(&"antrea-gw0".parse().unwrap()), Some(gateway()));
    }

    #[test]
    fn an_address_that_a_new_sandbox_took_stays_with_it() {
        let store = InterfaceStore::default();
        store.insert(pod("a", "old", 2, "10.0.0.2"));
        store.insert(pod("a", "new", 3, "10.0.0.2"));
        store.remove(&"a-old".parse().unwrap());
        assert_eq!(store.by_ip("10.0.0.2".parse().unwrap()).unwrap().name.as_str(), "a-new");
        assert_eq!(store.by_of_port(OfPort(2)), None);
        assert_eq!(store.containers().len(), 1);
    }

    #[test]
    fn an_interface_that_is_inserted_again_leaves_nothing_of_itself() {
        let store = InterfaceStore::default();
        store.insert(pod("a", "c1", 2, "10.0.0.2"));
        store.insert(pod("a", "c1", 9, "10.0.0.9"));
        assert_eq!(store.by_of_port(OfPort(2)), None);
        assert_eq!(store.by_ip("10.0.0.2".parse().unwrap()), None);
        assert_eq!(store.all().len(), 1);
    }
}

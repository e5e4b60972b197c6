//! What a starting agent does about the Pods that are there already: a comparison, without any IO.
//!
//! Of what OVSDB, the kernel and the IPAM state hold at that moment, all that is fine is kept as it is. What belongs to
//! a container whose link is gone goes at once, if the kernel says so once more. What belongs to Pods that are gone goes when the
//! API server has said which Pods there are; while it is away, nothing is taken for gone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;

use antrea_types::{InterfaceName, PodRef};

use crate::host_interface_name::digits;
use crate::interface_store::StoredContainer;
use crate::ipam::Owner;

/// What is there when the agent starts, before it serves any command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// Pods' interfaces on the bridge, from OVSDB.
    pub containers: Vec<StoredContainer>,
    /// The names of all links in the Node's network namespace.
    pub links: BTreeSet<InterfaceName>,
    /// Addresses that are reserved.
    pub allocations: BTreeMap<IpAddr, Owner>,
}

/// A Pod of this Node that does not use the Node's network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePod {
    /// The Pod.
    pub pod: PodRef,
    /// `status.podIPs`.
    pub ips: Vec<IpAddr>,
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Install the flows of an interface that is fine.
    InstallFlows(StoredContainer),
    /// Remove an interface: flows, port, link, addresses.
    Detach(StoredContainer),
    /// The same, for want of a link; if there is one after all, install the flows.
    DetachWithoutLink(StoredContainer),
    /// Remove a link of a container that never became a port, or no longer is one.
    DeleteLink(InterfaceName, Owner),
    /// Release an address that nothing of its holder has.
    Release(IpAddr, Owner),
}

impl Action {
    /// The container that it is about; empty for an address whose holder is not known.
    pub fn container_id(&self) -> &str {
        match self {
            Self::InstallFlows(stored) | Self::Detach(stored) | Self::DetachWithoutLink(stored) => {
                &stored.container.container_id
            }
            Self::DeleteLink(_, holder) | Self::Release(_, holder) => &holder.container_id,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InstallFlows(stored) => {
                write!(f, "install flows of {} ({})", stored.name, stored.container.pod)
            }
            Self::Detach(stored) => write!(f, "detach {} ({})", stored.name, stored.container.pod),
            Self::DetachWithoutLink(stored) => {
                write!(f, "detach {} ({}) unless it has a link", stored.name, stored.container.pod)
            }
            Self::DeleteLink(name, _) => write!(f, "delete link {name}"),
            Self::Release(address, holder) => write!(f, "release {address} of {holder}"),
        }
    }
}

/// What to do at once, whether or not the API server answers.
pub fn restore(inventory: &Inventory) -> Vec<Action> {
    let action = |stored: &StoredContainer| match inventory.links.contains(&stored.name) {
        true => Action::InstallFlows(stored.clone()),
        false => Action::DetachWithoutLink(stored.clone()),
    };
    inventory.containers.iter().map(action).collect()
}

/// What to remove once the API server has said that `pods` are the Pods of this Node.
///
/// Whatever came after the inventory is no concern of this: Pods may be newer than either list.
pub fn collect(inventory: &Inventory, pods: &[NodePod]) -> Vec<Action> {
    let known: BTreeSet<&PodRef> = pods.iter().map(|pod| &pod.pod).collect();
    let gone = inventory.containers.iter().filter(|stored| !known.contains(&stored.container.pod));
    let mut actions: Vec<Action> = gone.cloned().map(Action::Detach).collect();

    let attached = attached(inventory);
    let in_use: BTreeSet<IpAddr> = pods.iter().flat_map(|pod| pod.ips.iter().copied()).collect();
    let orphan = |(address, holder): &(&IpAddr, &Owner)| {
        !attached.iter().any(|owner| holder.covers(owner)) && !in_use.contains(*address)
    };
    actions.extend(remains(inventory, inventory.allocations.iter().filter(orphan).collect()));
    actions
}

/// Pods with a link and an address but no port: the database was recreated while the agent was down. Only a new sandbox gets a
/// port again.
pub fn without_port<'a>(inventory: &Inventory, pods: &'a [NodePod]) -> Vec<&'a PodRef> {
    let attached = attached(inventory);
    let has_lost = |address: &IpAddr| {
        let holder = inventory.allocations.get(address);
        let holder = holder.filter(|holder| !attached.iter().any(|owner| holder.covers(owner)));
        holder.is_some_and(|holder| links_of(inventory, holder).next().is_some())
    };
    pods.iter().filter(|pod| pod.ips.iter().any(has_lost)).map(|pod| &pod.pod).collect()
}

/// What to remove when the runtime has said which attachments are valid: CNI specification, section 2, GC.
pub fn garbage(inventory: &Inventory, valid: &BTreeSet<Owner>) -> Vec<Action> {
    let stale = inventory.containers.iter().filter(|stored| !valid.contains(&stored.container.owner()));
    let mut actions: Vec<Action> = stale.cloned().map(Action::Detach).collect();
    let mut held = attached(inventory);
    held.extend(valid.iter().cloned());
    let orphan = |(_, holder): &(&IpAddr, &Owner)| !held.iter().any(|owner| holder.covers(owner));
    actions.extend(remains(inventory, inventory.allocations.iter().filter(orphan).collect()));
    actions
}

/// The interfaces on the bridge.
fn attached(inventory: &Inventory) -> BTreeSet<Owner> {
    inventory.containers.iter().map(|stored| stored.container.owner()).collect()
}

/// What there is to do about addresses without an interface: they go, and the links of their holders.
fn remains(inventory: &Inventory, orphans: Vec<(&IpAddr, &Owner)>) -> Vec<Action> {
    // Once for each link, though its holder may have an address of either family.
    let links: BTreeMap<&InterfaceName, &Owner> =
        orphans.iter().flat_map(|(_, holder)| links_of(inventory, holder)).collect();
    let delete = |(link, holder): (&InterfaceName, &Owner)| Action::DeleteLink(link.clone(), holder.clone());
    let release = |(address, holder): (&IpAddr, &Owner)| Action::Release(*address, holder.clone());
    links.into_iter().map(delete).chain(orphans.into_iter().map(release)).collect()
}

/// Links that ADD made for `holder` and that are no ports: their names end in its digits.
fn links_of<'a>(
    inventory: &'a Inventory,
    holder: &'a Owner,
) -> impl Iterator<Item = (&'a InterfaceName, &'a Owner)> {
    let suffix = holder.interface.as_ref().and_then(|interface| interface.parse().ok());
    let suffix = suffix.map(|interface| format!("-{}", digits(&holder.container_id, &interface)));
    let is_port = |link: &InterfaceName| inventory.containers.iter().any(|stored| stored.name == *link);
    let is_left = move |link: &&InterfaceName| {
        suffix.as_ref().is_some_and(|suffix| link.as_str().ends_with(suffix.as_str())) && !is_port(link)
    };
    inventory.links.iter().filter(is_left).map(move |link| (link, holder))
}

#[cfg(test)]
mod tests {
    use antrea_types::OfPort;

    use super::*;
    use crate::host_interface_name::host_interface_name;
    use crate::interface::ContainerInterface;

    /// The interface of Pod `default/NAME` in a sandbox called after it.
    fn container(pod: &str, ip: &str) -> StoredContainer {
        let container = ContainerInterface {
            pod: PodRef { namespace: "default".into(), name: pod.into() },
            container_id: pod.into(),
            interface: "eth0".parse().unwrap(),
            mac: "0a:00:00:00:00:01".parse().unwrap(),
            ips: [ip.parse::<IpAddr>().unwrap()].into_iter().collect(),
            netns: String::new(),
            pod_uid: None,
        };
        let name = host_interface_name(pod, pod, &container.interface).unwrap();
        StoredContainer { name, of_port: Some(OfPort(2)), container }
    }

    /// Everything that ADD leaves behind for each of the Pods.
    fn inventory(pods: &[(&str, &str)]) -> Inventory {
        let containers: Vec<_> = pods.iter().map(|(pod, ip)| container(pod, ip)).collect();
        let links = containers.iter().map(|stored| stored.name.clone()).collect();
        let allocations =
            pods.iter().map(|(pod, ip)| (ip.parse().unwrap(), Owner::new(*pod, "eth0"))).collect();
        Inventory { containers, links, allocations }
    }

    fn node_pod(name: &str, ips: &[&str]) -> NodePod {
        let pod = PodRef { namespace: "default".into(), name: name.into() };
        NodePod { pod, ips: ips.iter().map(|ip| ip.parse().unwrap()).collect() }
    }

    fn text(actions: &[Action]) -> Vec<String> {
        actions.iter().map(ToString::to_string).collect()
    }

    const TWO: [(&str, &str); 2] = [("a", "10.0.0.2"), ("b", "10.0.0.3")];

    #[test]
    fn while_the_api_server_is_away_everything_stays() {
        let actions = text(&restore(&inventory(&TWO)));
        assert_eq!(
            actions,
            ["install flows of a-86f7e4 (default/a)", "install flows of b-e9d71f (default/b)"]
        );
    }

    #[test]
    fn a_port_whose_link_is_gone_goes_at_once() {
        let mut inventory = inventory(&TWO);
        inventory.links.retain(|link| link.as_str().starts_with('b'));
        let expected =
            ["detach a-86f7e4 (default/a) unless it has a link", "install flows of b-e9d71f (default/b)"];
        assert_eq!(text(&restore(&inventory)), expected);
    }

    #[test]
    fn what_is_fine_is_left_alone() {
        let pods = [node_pod("a", &["10.0.0.2"]), node_pod("b", &[]), node_pod("new", &["10.0.0.9"])];
        assert_eq!(collect(&inventory(&TWO), &pods), []);
    }

    #[test]
    fn interfaces_of_pods_that_are_gone_are_detached() {
        assert_eq!(text(&collect(&inventory(&TWO), &[node_pod("b", &[])])), ["detach a-86f7e4 (default/a)"]);
    }

    #[test]
    fn what_a_crash_in_the_middle_of_add_left_is_removed() {
        let mut inventory = inventory(&TWO);
        inventory.containers.remove(0);
        let expected = ["delete link a-86f7e4", "release 10.0.0.2 of a eth0"];
        assert_eq!(text(&collect(&inventory, &[node_pod("b", &[])])), expected);
    }

    #[test]
    fn an_address_that_a_pod_has_is_not_released() {
        let mut inventory = inventory(&TWO);
        inventory.containers.remove(0);
        assert_eq!(collect(&inventory, &[node_pod("a", &["10.0.0.2"]), node_pod("b", &[])]), []);
    }

    #[test]
    fn pods_whose_port_is_lost_are_told_from_those_whose_sandbox_is_gone() {
        let pods = [node_pod("a", &["10.0.0.2"]), node_pod("b", &["10.0.0.3"]), node_pod("c", &["10.0.0.4"])];
        let names = |inventory: &Inventory| {
            without_port(inventory, &pods).into_iter().map(|pod| pod.name.clone()).collect::<Vec<_>>()
        };
        let mut inventory = inventory(&TWO);
        assert!(names(&inventory).is_empty());
        inventory.containers.clear();
        assert_eq!(names(&inventory), ["a", "b"]);
        inventory.links.retain(|link| link.as_str().starts_with('b'));
        assert_eq!(names(&inventory), ["b"], "the other gets a new sandbox");
    }

    #[test]
    fn what_belongs_to_no_valid_attachment_is_garbage() {
        let mut inventory = inventory(&TWO);
        let valid = |ids: &[&str]| ids.iter().map(|id| Owner::new(*id, "eth0")).collect::<BTreeSet<_>>();
        assert_eq!(garbage(&inventory, &valid(&["a", "b"])), []);
        assert_eq!(text(&garbage(&inventory, &valid(&["b"]))), ["detach a-86f7e4 (default/a)"]);
        assert_eq!(garbage(&inventory, &valid(&[])).len(), 2);
        inventory.containers.remove(0);
        let expected = ["delete link a-86f7e4", "release 10.0.0.2 of a eth0"];
        assert_eq!(text(&garbage(&inventory, &valid(&["b"]))), expected);
        assert_eq!(garbage(&inventory, &valid(&["a", "b"])), [], "valid, though it has no port");
    }

    #[test]
    fn files_of_old_plugins_and_of_crashes_are_orphans_too() {
        let mut inventory = inventory(&TWO);
        let nobody = |container_id: &str| Owner { container_id: container_id.into(), interface: None };
        inventory.allocations.insert("10.0.0.2".parse().unwrap(), nobody("a"));
        inventory.allocations.insert("10.0.0.7".parse().unwrap(), nobody(""));
        let pods = [node_pod("a", &[]), node_pod("b", &[])];
        assert_eq!(text(&collect(&inventory, &pods)), ["release 10.0.0.7 of "]);
    }
}

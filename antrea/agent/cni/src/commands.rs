//! What ADD, CHECK and DEL have in common: the Node's state, and the steps that each is made of.

use std::sync::Arc;
use std::time::{Duration, Instant};

use antrea_cni::error::CniError;
use antrea_cni::proto::ErrorCode;
use antrea_host::Netlink;
use antrea_ovs::ovsdb::OvsDb;
use antrea_types::{InterfaceName, IpFamily};
use tokio::sync::Semaphore;
use tokio::time::sleep;
use tokio_util::task::TaskTracker;

use crate::container_locks::ContainerLocks;
use crate::flows::PodFlows;
use crate::giving_back::{FormerAddresses, HeldBack, Needed};
use crate::interface_store::{InterfaceStore, StoredContainer};
use crate::ipam::host_local::HostLocal;
use crate::ipam::shared::SharedIpam;
use crate::ipam::{IpamError, Owner};
use crate::port_numbers::PortNumbers;
use crate::settings::Settings;

/// What the CNI server works with. It is the one writer of Pods' ports, links, addresses and flows.
pub struct Dependencies {
    /// Addresses.
    pub ipam: HostLocal,
    /// The database of Open vSwitch.
    pub ovsdb: OvsDb,
    /// The Node's network namespace.
    pub netlink: Netlink,
    /// The interfaces of the bridge, shared with the rest of the agent.
    pub store: InterfaceStore,
    /// The flows of Pods.
    pub flows: Arc<dyn PodFlows>,
}

/// Links that are made at a time. More than one, so that nobody waits for a thread that has no processor.
const LINKS_AT_A_TIME: usize = 4;

/// How long another program may hold the IPAM state.
const IPAM_PATIENCE: Duration = Duration::from_secs(10);
const IPAM_PAUSE: Duration = Duration::from_millis(5);
/// How long to wait for a requested address before requesting another one.
const ASK_AGAIN: Duration = Duration::from_millis(200);

/// Carries out commands, one at a time for each container.
pub(crate) struct Commands {
    pub(crate) settings: Settings,
    pub(crate) node: Dependencies,
    pub(crate) ipam: SharedIpam,
    pub(crate) locks: ContainerLocks,
    pub(crate) port_numbers: PortNumbers,
    /// Held while a link is made: the kernel makes one at a time, and who waits for it there keeps a thread.
    pub(crate) link_turns: Semaphore,
    /// Those who give addresses back.
    pub(crate) giving_back: TaskTracker,
    pub(crate) former_addresses: FormerAddresses,
    pub(crate) held_back: HeldBack,
}

impl Commands {
    pub(crate) fn new(settings: Settings, node: Dependencies) -> Self {
        let giving_back = TaskTracker::new();
        // So that it can be waited for; tasks are added all the same.
        giving_back.close();
        Self {
            settings,
            ipam: SharedIpam::new(node.ipam.clone()),
            node,
            locks: ContainerLocks::default(),
            port_numbers: PortNumbers::default(),
            link_turns: Semaphore::new(LINKS_AT_A_TIME),
            giving_back,
            former_addresses: FormerAddresses::default(),
            held_back: HeldBack::default(),
        }
    }

    /// Works on the IPAM state. While another program holds it, or others have all that is left and give it back, it is tried
    /// again and again, and nothing else is kept waiting.
    pub(crate) async fn with_ipam<T>(
        &self,
        work: impl Fn(&HostLocal) -> Result<T, IpamError>,
    ) -> Result<T, CniError> {
        let begun = Instant::now();
        let mut asked = None;
        loop {
            // Read before the attempt: the address may be released between the attempt and the question below.
            let was_giving_back = !self.giving_back.is_empty();
            match self.ipam.work(&work).await {
                Err(IpamError::Held(_)) if begun.elapsed() < IPAM_PATIENCE => sleep(IPAM_PAUSE).await,
                Err(IpamError::Exhausted(net))
                    if begun.elapsed() < IPAM_PATIENCE
                        && (self.is_giving_back(IpFamily::of_net(&net), &mut asked) || was_giving_back) =>
                {
                    sleep(IPAM_PAUSE).await;
                }
                outcome => {
                    return outcome.map_err(|error| CniError::from_chain(ErrorCode::IpamFailure, &error));
                }
            }
        }
    }

    /// Whether an address will be released soon. Requests one that is held back, unless the caller did so recently (`asked`).
    fn is_giving_back(&self, family: IpFamily, asked: &mut Option<Instant>) -> bool {
        let waits = asked.is_some_and(|asked| asked.elapsed() < ASK_AGAIN);
        if !waits && self.held_back.need(family) == Needed::Asked {
            *asked = Some(Instant::now());
            return true;
        }
        waits || !self.giving_back.is_empty()
    }

    /// Removes flows and port of an interface, in this order; what is not there is skipped.
    pub(crate) async fn remove_port(&self, name: &InterfaceName) -> Result<(), CniError> {
        let flows = self.node.flows.uninstall(name).await;
        flows.map_err(|error| failed("cannot remove the flows", name, error.as_ref()))?;
        let port = self.node.ovsdb.delete_port(&self.settings.bridge, name.as_str()).await;
        port.map_err(|error| failed("cannot remove the port", name, &error))?;
        self.node.store.remove(name);
        Ok(())
    }

    /// The interface called `name`, when it is another container's than `owner`.
    pub(crate) fn held_by_other(&self, name: &InterfaceName, owner: &Owner) -> Option<StoredContainer> {
        let holders = self.node.store.containers().into_iter();
        holders.filter(|stored| stored.name == *name).find(|stored| stored.container.owner() != *owner)
    }
}

/// CONFIG_INTERFACE_FAILURE: what could not be done, with which interface, and why.
pub(crate) fn failed(
    what: &str,
    name: &InterfaceName,
    error: &(dyn std::error::Error + 'static),
) -> CniError {
    let cause = CniError::from_chain(ErrorCode::ConfigInterfaceFailure, error);
    CniError { message: format!("{what} of interface {name}: {}", cause.message), ..cause }
}

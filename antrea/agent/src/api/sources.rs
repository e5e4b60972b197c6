//! Where the answers of the API come from, once the Pod network of the Node is set up.

use std::path::PathBuf;

use antrea_types::InterfaceName;
use kube::Client;

use crate::agent_info::Identity;
use crate::observer::Observer;
use crate::policies::PodPolicies;
use crate::start::Agent;
use crate::tunnel;

/// Where the agent looks when it is asked.
#[derive(Clone)]
pub(crate) struct Sources {
    pub(super) client: Client,
    pub(super) identity: Identity,
    pub(super) observer: Observer,
    /// Where the control socket of ovs-vswitchd is.
    pub(super) ovs_run_dir: PathBuf,
    pub(super) gateway: InterfaceName,
    pub(super) tunnel: String,
    pub(super) policies: PodPolicies,
}

impl Sources {
    /// Those of an agent that is set up.
    pub(crate) fn of(agent: &Agent) -> Self {
        Self {
            client: agent.client.clone(),
            identity: agent.info.clone(),
            observer: agent.observer.clone(),
            ovs_run_dir: agent.config.ovs.run_dir.clone(),
            gateway: agent.config.host_gateway.clone(),
            tunnel: tunnel::port(agent.config.tunnel).name,
            policies: agent.policies.pods.clone(),
        }
    }
}

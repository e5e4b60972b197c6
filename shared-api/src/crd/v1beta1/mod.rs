//! `crd.antrea.io/v1beta1`.

mod antrea_agent_info;
mod antrea_controller_info;
mod component;
mod policy;
mod tier;

pub use antrea_agent_info::{AgentCondition, AgentConditionType, AntreaAgentInfo, NetworkInfo, OvsInfo};
pub use antrea_controller_info::{AntreaControllerInfo, ControllerCondition, ControllerConditionType};
pub use component::{ConditionStatus, NetworkPolicyControllerInfo};
pub use policy::{ClusterNetworkPolicy, NetworkPolicy};
pub use tier::{Tier, TierSpec};

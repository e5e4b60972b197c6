//! AntreaProxy's decisions: from Services and EndpointSlices to frontends, groups of endpoints and endpoints of the
//! pipeline, and to what the Node's kernel has to know. Pure: no client, no switch, no clock.
//!
//! [`service`], [`endpoint_slice`] and [`service_cidr`] read the Kubernetes objects, [`select`] chooses endpoints,
//! [`plan`] makes of both what the switch has, and [`Proxy`] keeps it all together: objects in, the Services that change
//! out.

mod addresses;
mod adoption;
mod claims;
pub mod endpoint_slice;
mod group_ids;
mod health;
mod host;
mod plan;
mod planning;
mod problem;
mod proxy;
mod select;
pub mod service;
pub mod service_cidr;
mod service_name;
mod settings;
mod source_ranges;
mod stale_udp;

pub use adoption::Adoption;
pub use health::{HealthCheck, ProxyHealth, Realized, SwitchState};
pub use plan::ServicePlan;
pub use problem::Problem;
pub use proxy::{Change, Proxy};
pub use service_name::{ServiceName, SliceName};
pub use settings::{ExternalServices, LoadBalancerAddresses, NodeHints, OtherClusters, Settings, Skipped};
pub use source_ranges::SourceRanges;
pub use stale_udp::{StaleUdp, leading_nowhere};

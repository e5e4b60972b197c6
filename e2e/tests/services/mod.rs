//! Services: every behaviour of the proxy that a user can see, and what it does when something goes wrong.

mod affinity;
pub(crate) mod api;
pub(crate) mod ask;
mod cluster_ip;
mod dsr;
mod endpoints;
mod etcd;
mod faults;
mod health;
pub(crate) mod load_balancer;
pub(crate) mod network;
mod node_port;
pub(crate) mod objects;
pub(crate) mod peers;
mod proxies;
mod restarts;
mod rollout;
mod routes;
pub(crate) mod stage;
pub(crate) mod talk;
mod topology;
mod traffic_policies;

//! Services: every behaviour of the proxy that a user can see, and what it does when something goes wrong.

mod affinity;
mod api;
mod ask;
mod cluster_ip;
mod dsr;
mod endpoints;
mod etcd;
mod faults;
mod health;
mod load_balancer;
mod network;
mod node_port;
mod objects;
mod peers;
mod proxies;
mod restarts;
mod rollout;
mod stage;
mod talk;
mod topology;
mod traffic_policies;

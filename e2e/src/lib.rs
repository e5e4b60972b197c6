//! The lab: real Kubernetes clusters on one machine, their Nodes made of namespaces, for trying and testing Antrea.
//!
//! Black box: nothing here knows the product's code. `cargo xtask lab` is its command line, [`scenario`] what tests
//! use. In the order in which `lab up` ([`lab`]) needs them: [`admission`], [`preflight`], [`packages`], [`programs`],
//! [`images`], [`image_store`], [`plan`], [`topology`], [`control_plane`], [`node`], [`install`].

pub use antrea_preflight as preflight;

pub mod admission;
pub mod bridge_network;
pub mod cache;
pub mod cleanup;
pub mod cluster_dns;
pub mod cnitool;
pub mod command;
pub mod conformance;
pub mod connectivity;
pub mod control_plane;
pub mod dump;
pub mod echo;
pub mod etcd;
pub mod exec;
pub mod geneve;
pub mod go;
pub mod guest;
pub mod host_routes;
pub mod image_store;
pub mod images;
pub mod install;
pub mod kubeconfig;
pub mod kubectl;
pub mod lab;
pub mod logs;
pub mod multicluster;
pub mod names;
pub mod namespace;
pub mod node;
pub mod node_config;
pub mod node_init;
pub mod outside;
pub mod packages;
pub mod partition;
pub mod patience;
pub mod paused;
pub mod pki;
pub mod plan;
pub mod pod_cidrs;
pub mod pods;
pub mod processes;
pub mod programs;
pub mod progress;
pub mod scenario;
pub mod state;
pub mod status;
pub mod topology;
pub mod wait;
pub mod workload;

//! What every long-running program of both products does alike: its table of components, its log, its own HTTP
//! server with health checks, its client of the Kubernetes API, watches, and objects that it keeps. No knowledge of
//! either product.

pub mod api;
pub mod auth;
pub mod backoff;
pub mod ca_publisher;
mod certificate;
mod client;
pub mod components;
mod connection;
mod gathered;
pub mod health;
pub mod keeper;
pub mod known;
pub mod kube_client;
pub mod kubeconfig;
pub mod leases;
mod listen;
pub mod log_level;
pub mod logging;
pub mod metrics;
pub mod object_files;
pub mod open_files;
pub mod query;
pub mod request_body;
pub mod server;
pub mod serving_certificate;
mod slots;
pub mod status;
pub mod untyped;
pub mod version;
pub mod watch;
pub mod watchdog;

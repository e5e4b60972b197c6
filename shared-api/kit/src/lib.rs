//! What every long-running program of both products does alike: its table of components, its log, its own HTTP
//! server with health checks, its client of the Kubernetes API, and watches. No knowledge of either product.

pub mod backoff;
pub mod certificate;
pub mod components;
pub mod health;
pub mod kube_client;
pub mod logging;
pub mod server;
pub mod watch;

//! What every long-running program of both products does alike: its table of components, its log, its own HTTP
//! server with health checks, its client of the Kubernetes API, watches, and objects that it keeps. No knowledge of
//! either product.

pub mod api;
pub mod backoff;
pub mod certificate;
pub mod components;
pub mod health;
pub mod keeper;
pub mod known;
pub mod kube_client;
mod listen;
pub mod logging;
pub mod object_files;
pub mod server;
pub mod watch;

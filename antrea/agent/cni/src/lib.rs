//! The agent's CNI server: gives Pods their interfaces and addresses, and remembers them in OVSDB.
//!
//! [`server::CniServer`] answers the plugin: ADD, CHECK, DEL, GC and STATUS are made of the steps in
//! `commands` and `link`. What decides is pure: names ([`host_interface_name`]), requests ([`request`]), results
//! ([`result`], [`prev_result`]), what a starting agent does about what is there ([`reconcile`]). What remembers:
//! [`interface`] and [`interface_store`] (OVSDB), [`ipam`] (files of the standard plugin).

mod add;
mod apply;
mod check;
mod commands;
mod container_locks;
mod del;
pub mod flows;
pub mod gc;
mod giving_back;
pub mod host_interface_name;
pub mod interface;
pub mod interface_store;
pub mod ipam;
mod link;
mod plug_in;
mod port_numbers;
pub mod prev_result;
pub mod reconcile;
pub mod request;
pub mod result;
pub mod server;
pub mod settings;
mod status;

pub use commands::Dependencies;

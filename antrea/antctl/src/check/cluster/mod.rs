//! `antctl check cluster`: whether Antrea can be installed.

mod cidrs;
mod facts;
mod judge;
mod ownership;
mod run;

pub(crate) use facts::print_node_facts;
pub(crate) use run::check;

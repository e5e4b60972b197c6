//! `antctl check installation`: who reaches whom, and how agents and controller say they are.

mod cause;
mod health;
mod judge;
mod manifests;
mod nodes;
mod questions;
mod run;
mod test;

pub(crate) use run::check;

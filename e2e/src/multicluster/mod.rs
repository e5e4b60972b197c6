//! A ClusterSet on the clusters of a lab, and the way of a request from one of them to another.
//!
//! [`antctl`] is the user's command line, [`cluster_set`] what a user does with it, [`nginx`] a Service of two clusters
//! that a third asks, [`walk`] the hops of its requests, which [`packets`] captures. [`tunnels`] cuts the tunnel of a Gateway,
//! [`requests`] are what goes on meanwhile, and [`gateways`] tells which Node is one.

pub mod antctl;
pub mod cluster_set;
pub mod gateways;
pub mod nginx;
pub mod packets;
pub mod requests;
pub mod tunnels;
pub mod walk;

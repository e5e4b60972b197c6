//! The kit against real sockets, files and signals.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod auth;
mod certificates;
mod crowds;
mod guarded;
mod issuer;
mod kube_client;
mod object_files;
mod published_ca;
mod queues;
mod refused;
mod reviews;
mod server;

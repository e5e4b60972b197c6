//! Scenarios on real clusters. They run where `ANTREA_E2E` allows it, as `cargo xtask test` does.

mod antctl;
mod api_server;
mod bad_input;
mod chart;
mod cluster;
mod cni_commands;
mod connectivity;
mod getting_started;
mod keep_alive;
mod lab;
mod leaks;
mod nodes;
mod objects;
mod paused;
mod pool;
mod repairs;
mod repeated_faults;
mod restarts;
mod traces;
mod tunnels;

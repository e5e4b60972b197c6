//! Scenarios on real clusters. They run where `ANTREA_E2E` allows it, as `cargo xtask test` does.

mod adds_cut_short;
mod agent_crashes;
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
mod objects;
mod ovs_absences;
mod ovs_crashes;
mod pings;
mod repairs;
mod repeated_faults;
mod restarts;
mod traces;
mod traffic;
mod tunnels;
mod upgrades;

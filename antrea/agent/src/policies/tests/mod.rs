//! Policies on a Node with a real Open vSwitch: while the controller speaks, while it is away, and while the switch refuses.

mod agent;
mod no_controller;
mod node;
mod refusals;
mod script;
mod stored;
mod unknown_pods;

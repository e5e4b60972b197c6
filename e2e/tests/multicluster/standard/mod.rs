//! What the conformance tests of KEP-1645 (`conformance` of mcs-api) ask of an implementation, optional behaviours
//! included, each as a test: two clusters export, B first, and all three import.
//!
//! ```text
//! fixture ← services() of exports, properties, ports, headless, slices, connections
//!    ↓ made once for each stage
//! a test: look (objects), ask (DNS, requests)
//! ```
//! Those that export do so with Pods in the networks of their Nodes (`podCIDRs: auto`); `without_pods` has all tests run once more
//! with default values.

mod ask;
mod connections;
mod exports;
mod fixture;
mod headless;
mod look;
mod names;
mod ports;
mod properties;
mod servers;
mod service;
mod slices;
mod without_pods;

//! Scenarios on real clusters. They run where `ANTREA_E2E` allows it, as `cargo xtask test` does.

mod lab;

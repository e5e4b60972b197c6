//! The realized tables, one module each: a constant that names the table, and pure builders of its flows.
//!
//! Which flows there are, and for which Pods and peers, is decided in [`crate::features`].

pub mod arp_responder;
pub mod arp_spoof_guard;
pub mod classifier;
pub mod conntrack_commit;
pub mod conntrack_state;
pub mod conntrack_zone;
pub mod dnat;
pub mod dsr_service_mark;
pub mod egress_default_rule;
pub mod egress_metric;
pub mod egress_rule;
pub mod endpoint_dnat;
pub mod ingress_default_rule;
pub mod ingress_metric;
pub mod ingress_rule;
pub mod ingress_security_classifier;
pub mod ipv6;
pub mod l2_forwarding_calc;
pub mod l3_dec_ttl;
pub mod l3_forwarding;
pub mod node_port_mark;
pub mod output;
pub mod pipeline_root_classifier;
pub mod policy_rules;
pub mod pre_routing_classifier;
pub mod service_lb;
pub mod session_affinity;
pub mod snat;
pub mod snat_mark;
pub mod spoof_guard;
pub mod un_snat;

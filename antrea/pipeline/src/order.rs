//! The order of all tables: pipelines, their stages, their tables, as one value.
//!
//! A Node realizes only the tables that its features need ([`crate::layout`]); the others are names that keep their
//! place. Adding a feature means writing the modules of its tables and naming them here, never moving a table.

use crate::tables::{
    arp_responder, arp_spoof_guard, classifier, conntrack_commit, conntrack_state, conntrack_zone, dnat,
    dsr_service_mark, egress_default_rule, egress_metric, egress_rule, endpoint_dnat, ingress_default_rule,
    ingress_metric, ingress_rule, ingress_security_classifier, ipv6, l2_forwarding_calc, l3_dec_ttl,
    l3_forwarding, node_port_mark, output, pipeline_root_classifier, pre_routing_classifier, service_lb,
    session_affinity, snat, snat_mark, spoof_guard, un_snat,
};

/// What a table does with packets that none of its other flows match (priority 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Miss {
    /// They go to the next realized table of the pipeline; in the last one they are dropped.
    Next,
    /// They are dropped.
    Drop,
    /// The feature that fills the table says where they go.
    ByFeature,
}

/// A table, known by its name; its number depends on what else is realized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// The name that `ovs-ofctl dump-tables` shows.
    pub name: &'static str,
    /// What happens to packets that match nothing else.
    pub miss: Miss,
}

impl Table {
    /// A table whose unmatched packets go on.
    pub const fn pass(name: &'static str) -> Self {
        Self { name, miss: Miss::Next }
    }

    /// A table whose unmatched packets are dropped.
    pub const fn guard(name: &'static str) -> Self {
        Self { name, miss: Miss::Drop }
    }

    /// A table whose feature installs the flow for unmatched packets.
    pub const fn by_feature(name: &'static str) -> Self {
        Self { name, miss: Miss::ByFeature }
    }
}

/// A run of tables that serve one purpose. In every pipeline stages follow one another in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Chooses the pipeline.
    Start,
    /// Marks packets by where they came from.
    Classifier,
    /// Drops packets with a source that is not the sender's.
    Validation,
    /// Looks connections up.
    ConntrackState,
    /// Translates the destination of Service traffic.
    PreRouting,
    /// Policies of the sender.
    EgressSecurity,
    /// Chooses the next hop.
    Routing,
    /// Translates sources.
    PostRouting,
    /// Chooses the port.
    Switching,
    /// Policies of the receiver.
    IngressSecurity,
    /// Commits new connections.
    Conntrack,
    /// Sends the packet out.
    Output,
}

/// A sequence of stages; a packet moves forward in it and changes it only by an explicit goto or resubmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PipelineName {
    /// One table that sends packets to the others.
    Root,
    /// ARP.
    Arp,
    /// Unicast IPv4 and IPv6.
    Ip,
    /// Multicast IPv4.
    Multicast,
    /// Everything else, on an ExternalNode.
    NonIp,
}

/// The tables of a stage, in order.
#[derive(Clone, Copy, Debug)]
pub struct StageTables {
    /// The stage.
    pub stage: Stage,
    /// Its tables.
    pub tables: &'static [Table],
}

/// The stages of a pipeline, in order.
#[derive(Clone, Copy, Debug)]
pub struct PipelineStages {
    /// The pipeline.
    pub name: PipelineName,
    /// Its stages.
    pub stages: &'static [StageTables],
}

const fn stage(stage: Stage, tables: &'static [Table]) -> StageTables {
    StageTables { stage, tables }
}

/// Every table there is, in the order of their numbers.
pub const ORDER: &[PipelineStages] = &[
    PipelineStages { name: PipelineName::Root, stages: ROOT },
    PipelineStages { name: PipelineName::Arp, stages: ARP },
    PipelineStages { name: PipelineName::Ip, stages: IP },
    PipelineStages { name: PipelineName::Multicast, stages: MULTICAST },
    PipelineStages { name: PipelineName::NonIp, stages: NON_IP },
];

const ROOT: &[StageTables] = &[stage(Stage::Start, &[pipeline_root_classifier::TABLE])];

const ARP: &[StageTables] =
    &[stage(Stage::Validation, &[arp_spoof_guard::TABLE]), stage(Stage::Output, &[arp_responder::TABLE])];

const IP: &[StageTables] = &[
    stage(Stage::Classifier, &[classifier::TABLE]),
    stage(Stage::Validation, &[spoof_guard::TABLE, ipv6::TABLE, Table::pass("PipelineIPClassifier")]),
    stage(Stage::ConntrackState, &[un_snat::TABLE, conntrack_zone::TABLE, conntrack_state::TABLE]),
    stage(
        Stage::PreRouting,
        &[
            pre_routing_classifier::TABLE,
            node_port_mark::TABLE,
            session_affinity::TABLE,
            service_lb::TABLE,
            dsr_service_mark::TABLE,
            endpoint_dnat::TABLE,
            dnat::TABLE,
        ],
    ),
    stage(
        Stage::EgressSecurity,
        &[
            Table::pass("EgressSecurityClassifier"),
            Table::pass("AntreaPolicyEgressRule"),
            egress_rule::TABLE,
            egress_default_rule::TABLE,
            egress_metric::TABLE,
        ],
    ),
    stage(
        Stage::Routing,
        &[l3_forwarding::TABLE, Table::by_feature("EgressMark"), Table::pass("EgressQoS"), l3_dec_ttl::TABLE],
    ),
    stage(Stage::PostRouting, &[snat_mark::TABLE, snat::TABLE]),
    stage(Stage::Switching, &[l2_forwarding_calc::TABLE, Table::pass("TrafficControl")]),
    stage(
        Stage::IngressSecurity,
        &[
            ingress_security_classifier::TABLE,
            Table::pass("AntreaPolicyIngressRule"),
            ingress_rule::TABLE,
            ingress_default_rule::TABLE,
            ingress_metric::TABLE,
        ],
    ),
    stage(Stage::Conntrack, &[conntrack_commit::TABLE]),
    stage(Stage::Output, &[Table::pass("VLAN"), output::TABLE]),
];

const MULTICAST: &[StageTables] = &[
    stage(
        Stage::EgressSecurity,
        &[
            Table::pass("MulticastEgressRule"),
            Table::pass("MulticastEgressMetric"),
            Table::pass("MulticastEgressPodMetric"),
        ],
    ),
    stage(Stage::Routing, &[Table::pass("MulticastRouting")]),
    stage(
        Stage::IngressSecurity,
        &[
            Table::pass("MulticastIngressRule"),
            Table::pass("MulticastIngressMetric"),
            Table::pass("MulticastIngressPodMetric"),
        ],
    ),
    stage(Stage::Output, &[Table::pass("MulticastOutput")]),
];

const NON_IP: &[StageTables] = &[stage(Stage::Classifier, &[Table::guard("NonIP")])];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn names() -> Vec<&'static str> {
        let stages = ORDER.iter().flat_map(|pipeline| pipeline.stages);
        stages.flat_map(|stage| stage.tables).map(|table| table.name).collect()
    }

    #[test]
    fn no_table_is_named_twice() {
        let names = names();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }

    #[test]
    fn names_fit_what_openflow_has_room_for() {
        // OpenFlow 1.5 §7.3.5.18: ofp_table_features has 32 bytes, the last of them NUL.
        assert_eq!(
            names().into_iter().filter(|name| name.len() > 31).collect::<Vec<_>>(),
            Vec::<&str>::new()
        );
    }

    #[test]
    fn stages_follow_one_another_in_every_pipeline() {
        for pipeline in ORDER {
            assert!(
                pipeline.stages.is_sorted_by(|left, right| left.stage < right.stage),
                "{:?}",
                pipeline.name
            );
        }
    }
}

//! The bits of registers and connection marks that tables hand one another, and their values.
//!
//! Positions and values are part of Antrea's contract with everything that reads its flows and connections: they are
//! upstream's. Only fields of realized tables are here; a test checks that no two of them share a bit.

use antrea_openflow::{Field, SubField};
use antrea_types::IpFamily;

/// A value of a range of bits: loaded by one table, matched by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The bits.
    pub range: SubField,
    /// What they hold.
    pub value: u32,
}

impl Mark {
    const fn new(range: SubField, value: u32) -> Self {
        Self { range, value }
    }

    const fn bit(field: Field, bit: u16) -> Self {
        Self::new(SubField::bit(field, bit), 1)
    }

    /// The same bits, all zero: as they are in a packet that nobody marked.
    pub const fn unset(self) -> Self {
        Self { value: 0, ..self }
    }
}

/// `PktSource`: where a packet came into the bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PktSource {
    /// The tunnel.
    Tunnel = 1,
    /// The gateway.
    Gateway = 2,
    /// A Pod of this Node.
    Pod = 3,
}

impl PktSource {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tunnel, Self::Gateway, Self::Pod];

    /// The register's bits.
    pub const FIELD: SubField = SubField::new(Field::Reg0, 0, 3);

    /// The mark of the packet.
    pub const fn mark(self) -> Mark {
        Mark::new(Self::FIELD, self as u32)
    }

    /// The mark of a connection whose first packet came from here.
    pub const fn connection_mark(self) -> Mark {
        Mark::new(CONN_SOURCE, self as u32)
    }
}

/// `PktDestination`: where a packet leaves to, other than to a Pod of this Node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PktDestination {
    /// The tunnel.
    Tunnel = 1,
    /// The gateway.
    Gateway = 2,
}

impl PktDestination {
    /// The register's bits.
    pub const FIELD: SubField = SubField::new(Field::Reg0, 4, 7);

    /// The mark of the packet.
    pub const fn mark(self) -> Mark {
        Mark::new(Self::FIELD, self as u32)
    }
}

/// Both MAC addresses have to be written before the packet is delivered to a Pod.
pub const REWRITE_MAC: Mark = Mark::bit(Field::Reg0, 9);

/// `FromNode`: the Node itself has sent the packet. Only where the packet cannot keep the mark [`HOST_LOCAL_SOURCE`]; no
/// upstream pipeline uses the bit.
pub const FROM_NODE: Mark = Mark::bit(Field::Reg4, 29);

/// `ForeignSource`: the packet came through the tunnel, and its source is of none of its sender's networks. Nobody may open
/// a connection so, but for those that [`crate::tables::conntrack_state`] names. No upstream pipeline uses the bit.
pub const FOREIGN_SOURCE: Mark = Mark::bit(Field::Reg4, 30);

/// `ByOwnGateway`: with [`FOREIGN_SOURCE`], a Gateway of this cluster has sent the packet, perhaps for another cluster. No
/// upstream pipeline uses the bit.
pub const BY_OWN_GATEWAY: Mark = Mark::bit(Field::Reg4, 31);

/// The mark that the host gives packets of its own.
pub const HOST_LOCAL_SOURCE: Mark = Mark::bit(Field::PktMark, 31);

/// `SvcNoEp`: the packet is to a Service without endpoints.
pub const SERVICE_WITHOUT_ENDPOINT: Mark = Mark::bit(Field::Reg0, 14);

/// `Output`: the packet goes to the port in [`TARGET_OF_PORT`].
pub const OUTPUT_TO_OF_PORT: Mark = Mark::new(SubField::new(Field::Reg0, 21, 22), 1);

/// The port that the packet leaves by.
pub const TARGET_OF_PORT: SubField = SubField::whole(Field::Reg1);

/// `EndpointIP`: the address of the endpoint that was chosen.
pub const fn endpoint_ip(family: IpFamily) -> SubField {
    match family {
        IpFamily::V4 => SubField::whole(Field::Reg3),
        IpFamily::V6 => SubField::whole(Field::Xxreg3),
    }
}

/// `EndpointPort`: the port of the endpoint that was chosen.
pub const ENDPOINT_PORT: SubField = SubField::new(Field::Reg4, 0, 15);

/// `ServiceEPState`: whether an endpoint is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointState {
    /// Not yet.
    ToSelect = 1,
    /// It is.
    Selected = 2,
    /// It is, and has to be remembered for the client's next connection.
    ToLearn = 3,
    /// It was, for an earlier connection of the client; whether the Service still has it has to be looked up. No upstream
    /// pipeline uses the value.
    Remembered = 4,
}

impl EndpointState {
    /// The register's bits.
    pub const FIELD: SubField = SubField::new(Field::Reg4, 16, 18);

    /// The mark of the packet.
    pub const fn mark(self) -> Mark {
        Mark::new(Self::FIELD, self as u32)
    }
}

/// `EpUnion`: [`ENDPOINT_PORT`] and [`EndpointState`] as one, to be matched together.
const ENDPOINT_UNION: SubField = SubField::new(Field::Reg4, 0, 18);

/// An endpoint with this port is chosen.
pub const fn selected_port(port: u16) -> Mark {
    Mark::new(ENDPOINT_UNION, (EndpointState::Selected as u32) << ENDPOINT_PORT.bits() | port as u32)
}

/// An endpoint with this port was chosen for an earlier connection.
pub const fn remembered_port(port: u16) -> Mark {
    Mark::new(ENDPOINT_UNION, (EndpointState::Remembered as u32) << ENDPOINT_PORT.bits() | port as u32)
}

/// The packet is to one of the addresses that NodePorts are served on.
pub const TO_NODE_PORT_ADDRESS: Mark = Mark::bit(Field::Reg4, 19);

/// The packet is to a NodePort, a LoadBalancer address or an external IP.
pub const TO_EXTERNAL_ADDRESS: Mark = Mark::bit(Field::Reg4, 21);

/// The endpoints of the packet's Service are Services themselves.
pub const NESTED_SERVICE: Mark = Mark::bit(Field::Reg4, 24);

/// The endpoint answers the client directly, so the packet keeps its destination.
pub const DSR_SERVICE: Mark = Mark::bit(Field::Reg4, 25);

/// The endpoint is not on this Node.
pub const REMOTE_ENDPOINT: Mark = Mark::bit(Field::Reg4, 26);

/// The packet came from outside the Node, through the gateway.
pub const FROM_EXTERNAL: Mark = Mark::bit(Field::Reg4, 27);

/// The packet was sent by a Pod of this Node or by the Node itself.
pub const FROM_LOCAL: Mark = Mark::bit(Field::Reg4, 28);

/// `TFEgressConjID`: the rule that lets the packet leave its Pod.
pub const EGRESS_RULE: SubField = SubField::whole(Field::Reg5);

/// `TFIngressConjID`: the rule that lets the packet reach its Pod.
pub const INGRESS_RULE: SubField = SubField::whole(Field::Reg6);

/// The rule that lets a connection reach its Pod.
pub const INGRESS_RULE_OF_CONNECTION: SubField = SubField::new(Field::CtLabel, 0, 31);

/// The rule that lets a connection leave its Pod.
pub const EGRESS_RULE_OF_CONNECTION: SubField = SubField::new(Field::CtLabel, 32, 63);

/// `ServiceGroupID`: the group that chose the endpoint.
pub const SERVICE_GROUP: SubField = SubField::whole(Field::Reg7);

/// `ConnSource` of a connection: the [`PktSource`] of its first packet.
pub const CONN_SOURCE: SubField = SubField::new(Field::CtMark, 0, 3);

/// The connection is to a Service whose address Antrea translates.
pub const SERVICE_CONNECTION: Mark = Mark::bit(Field::CtMark, 4);

/// The connection's source is translated; it was committed where that was decided.
pub const CONN_SNAT: Mark = Mark::bit(Field::CtMark, 5);

/// The connection goes back to where it came from: from a Pod to itself, from the Node out through its gateway again.
pub const HAIRPIN: Mark = Mark::bit(Field::CtMark, 6);

/// The conntrack zone of all connections of a family.
pub const fn ct_zone(family: IpFamily) -> u16 {
    match family {
        IpFamily::V4 => 65520,
        IpFamily::V6 => 65510,
    }
}

/// The conntrack zone of connections whose source is translated, beside [`ct_zone`].
pub const fn snat_ct_zone(family: IpFamily) -> u16 {
    match family {
        IpFamily::V4 => 65521,
        IpFamily::V6 => 65511,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &[(&str, SubField)] = &[
        ("PktSource", PktSource::FIELD),
        ("PktDestination", PktDestination::FIELD),
        ("RewriteMAC", REWRITE_MAC.range),
        ("SvcNoEp", SERVICE_WITHOUT_ENDPOINT.range),
        ("Output", OUTPUT_TO_OF_PORT.range),
        ("TargetOFPort", TARGET_OF_PORT),
        ("EndpointIP", endpoint_ip(IpFamily::V4)),
        ("EndpointIP of IPv6", endpoint_ip(IpFamily::V6)),
        ("EndpointPort", ENDPOINT_PORT),
        ("ServiceEPState", EndpointState::FIELD),
        ("ToNodePortAddress", TO_NODE_PORT_ADDRESS.range),
        ("ToExternalAddress", TO_EXTERNAL_ADDRESS.range),
        ("NestedService", NESTED_SERVICE.range),
        ("DSRService", DSR_SERVICE.range),
        ("RemoteEndpoint", REMOTE_ENDPOINT.range),
        ("FromExternal", FROM_EXTERNAL.range),
        ("FromLocal", FROM_LOCAL.range),
        ("FromNode", FROM_NODE.range),
        ("ForeignSource", FOREIGN_SOURCE.range),
        ("ByOwnGateway", BY_OWN_GATEWAY.range),
        ("TFEgressConjID", EGRESS_RULE),
        ("TFIngressConjID", INGRESS_RULE),
        ("ServiceGroupID", SERVICE_GROUP),
        ("HostLocalSource", HOST_LOCAL_SOURCE.range),
        ("ConnSource", CONN_SOURCE),
        ("Service", SERVICE_CONNECTION.range),
        ("ConnSNAT", CONN_SNAT.range),
        ("Hairpin", HAIRPIN.range),
        ("ingress rule of a connection", INGRESS_RULE_OF_CONNECTION),
        ("egress rule of a connection", EGRESS_RULE_OF_CONNECTION),
    ];

    #[test]
    fn no_two_fields_share_a_bit() {
        for (index, (name, range)) in ALL.iter().enumerate() {
            for (other_name, other) in ALL.iter().skip(index + 1) {
                let shared = range.field() == other.field() && range.mask() & other.mask() != 0;
                assert!(!shared, "{name} and {other_name}");
            }
        }
    }

    #[test]
    fn fields_stand_where_upstream_has_them() {
        let text: Vec<String> = ALL.iter().map(|(name, range)| format!("{name} {range}")).collect();
        insta::assert_snapshot!(text.join("\n"), @r"
        PktSource NXM_NX_REG0[0..3]
        PktDestination NXM_NX_REG0[4..7]
        RewriteMAC NXM_NX_REG0[9]
        SvcNoEp NXM_NX_REG0[14]
        Output NXM_NX_REG0[21..22]
        TargetOFPort NXM_NX_REG1[]
        EndpointIP NXM_NX_REG3[]
        EndpointIP of IPv6 NXM_NX_XXREG3[]
        EndpointPort NXM_NX_REG4[0..15]
        ServiceEPState NXM_NX_REG4[16..18]
        ToNodePortAddress NXM_NX_REG4[19]
        ToExternalAddress NXM_NX_REG4[21]
        NestedService NXM_NX_REG4[24]
        DSRService NXM_NX_REG4[25]
        RemoteEndpoint NXM_NX_REG4[26]
        FromExternal NXM_NX_REG4[27]
        FromLocal NXM_NX_REG4[28]
        FromNode NXM_NX_REG4[29]
        ForeignSource NXM_NX_REG4[30]
        ByOwnGateway NXM_NX_REG4[31]
        TFEgressConjID NXM_NX_REG5[]
        TFIngressConjID NXM_NX_REG6[]
        ServiceGroupID NXM_NX_REG7[]
        HostLocalSource NXM_NX_PKT_MARK[31]
        ConnSource NXM_NX_CT_MARK[0..3]
        Service NXM_NX_CT_MARK[4]
        ConnSNAT NXM_NX_CT_MARK[5]
        Hairpin NXM_NX_CT_MARK[6]
        ingress rule of a connection NXM_NX_CT_LABEL[0..31]
        egress rule of a connection NXM_NX_CT_LABEL[32..63]
        ");
    }

    #[test]
    fn a_chosen_endpoint_has_its_port_and_its_state_in_one_mark() {
        assert_eq!((ENDPOINT_UNION.mask(), selected_port(6443).value), (0x7ffff, 0x2192b));
        assert_eq!(ENDPOINT_UNION.mask(), ENDPOINT_PORT.mask() | EndpointState::FIELD.mask());
    }

    #[test]
    fn every_value_fits_its_field() {
        let source = [PktSource::Pod.mark(), PktDestination::Gateway.mark()];
        let endpoint = [EndpointState::ToLearn.mark(), selected_port(u16::MAX), remembered_port(u16::MAX)];
        for mark in source.into_iter().chain(endpoint).chain([OUTPUT_TO_OF_PORT, REWRITE_MAC]) {
            assert!(u128::from(mark.value) << mark.range.offset() <= mark.range.mask(), "{mark:?}");
        }
    }
}

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

/// `Output`: the packet goes to the port in [`TARGET_OF_PORT`].
pub const OUTPUT_TO_OF_PORT: Mark = Mark::new(SubField::new(Field::Reg0, 21, 22), 1);

/// The port that the packet leaves by.
pub const TARGET_OF_PORT: SubField = SubField::whole(Field::Reg1);

/// The packet came from outside the Node, through the gateway.
pub const FROM_EXTERNAL: Mark = Mark::bit(Field::Reg4, 27);

/// The packet was sent by a Pod of this Node or by the Node itself.
pub const FROM_LOCAL: Mark = Mark::bit(Field::Reg4, 28);

/// `ConnSource` of a connection: the [`PktSource`] of its first packet.
pub const CONN_SOURCE: SubField = SubField::new(Field::CtMark, 0, 3);

/// The connection is to a Service whose address Antrea translates.
pub const SERVICE_CONNECTION: Mark = Mark::bit(Field::CtMark, 4);

/// The connection's source is translated; it was committed where that was decided.
pub const CONN_SNAT: Mark = Mark::bit(Field::CtMark, 5);

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
        ("Output", OUTPUT_TO_OF_PORT.range),
        ("TargetOFPort", TARGET_OF_PORT),
        ("FromExternal", FROM_EXTERNAL.range),
        ("FromLocal", FROM_LOCAL.range),
        ("ConnSource", CONN_SOURCE),
        ("Service", SERVICE_CONNECTION.range),
        ("ConnSNAT", CONN_SNAT.range),
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
        Output NXM_NX_REG0[21..22]
        TargetOFPort NXM_NX_REG1[]
        FromExternal NXM_NX_REG4[27]
        FromLocal NXM_NX_REG4[28]
        ConnSource NXM_NX_CT_MARK[0..3]
        Service NXM_NX_CT_MARK[4]
        ConnSNAT NXM_NX_CT_MARK[5]
        ");
    }

    #[test]
    fn every_value_fits_its_field() {
        for mark in [PktSource::Pod.mark(), PktDestination::Gateway.mark(), OUTPUT_TO_OF_PORT, REWRITE_MAC] {
            assert!(u128::from(mark.value) << mark.range.offset() <= mark.range.mask(), "{mark:?}");
        }
    }
}

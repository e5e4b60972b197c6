//! The packet and metadata fields that flows match and rewrite, and how each is named and numbered.
//!
//! Sources: OpenFlow 1.5 §7.2.3 (OXM), `ovs-fields(7)` (NXM). OVS takes either number for a field; matches and
//! rewrites are sent with OXM's, `learn` and `ct` zones with NXM's, as `ovs-ofctl` does.

use std::fmt;

/// How OVS writes the value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Hexadecimal,
    Decimal,
    Ethernet,
    Ipv4,
    Ipv6,
    CtState,
    TcpFlags,
    Port,
    Fragment,
}

/// The number of a field in an OXM header: class, then field number, then the bytes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code {
    pub(crate) class: u16,
    pub(crate) number: u8,
    pub(crate) bytes: u8,
}

/// What is fixed for a field.
#[derive(Debug)]
pub(crate) struct Description {
    /// As `ovs-ofctl` names it in `set_field`.
    pub(crate) name: &'static str,
    /// As `ovs-ofctl` names it in `move`, `load` and `learn`.
    pub(crate) nxm_name: &'static str,
    pub(crate) oxm: Code,
    pub(crate) nxm: Code,
    pub(crate) bits: u16,
    pub(crate) format: Format,
}

macro_rules! fields {
    ($($variant:ident $name:literal $nxm_name:literal $bits:literal $format:ident
       ($class:literal $number:literal $bytes:literal) ($nclass:literal $nnumber:literal $nbytes:literal);)*) => {
        /// A field, named as in `ovs-fields(7)`. The order puts each field after those it depends on, which is the
        /// order that OVS wants in a match.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Field {
            $(#[doc = concat!("`", $name, "`, `", $nxm_name, "`.")] $variant,)*
        }

        impl Field {
            /// All of them, in order.
            pub const EVERY: &'static [Self] = &[$(Self::$variant),*];

            pub(crate) const fn description(self) -> &'static Description {
                match self {
                    $(Self::$variant => &Description {
                        name: $name,
                        nxm_name: $nxm_name,
                        oxm: Code { class: $class, number: $number, bytes: $bytes },
                        nxm: Code { class: $nclass, number: $nnumber, bytes: $nbytes },
                        bits: $bits,
                        format: Format::$format,
                    },)*
                }
            }
        }
    };
}

fields! {
    InPort      "in_port"       "NXM_OF_IN_PORT"        16 Port        (0x8000 0 4)    (0 0 2);
    ActsetOutput "actset_output" "OXM_OF_ACTSET_OUTPUT" 32 Port        (0x8000 43 4)   (0x8000 43 4);
    EthDst      "eth_dst"       "NXM_OF_ETH_DST"        48 Ethernet    (0x8000 3 6)    (0 1 6);
    EthSrc      "eth_src"       "NXM_OF_ETH_SRC"        48 Ethernet    (0x8000 4 6)    (0 2 6);
    EthType     "eth_type"      "NXM_OF_ETH_TYPE"       16 Hexadecimal (0x8000 5 2)    (0 3 2);
    VlanTci     "vlan_tci"      "NXM_OF_VLAN_TCI"       16 Hexadecimal (0 4 2)         (0 4 2);
    VlanVid     "vlan_vid"      "OXM_OF_VLAN_VID"       12 Decimal     (0x8000 6 2)    (0x8000 6 2);
    VlanPcp     "vlan_pcp"      "OXM_OF_VLAN_PCP"        3 Decimal     (0x8000 7 1)    (0x8000 7 1);
    IpDscp      "ip_dscp"       "OXM_OF_IP_DSCP"         6 Decimal     (0x8000 8 1)    (0x8000 8 1);
    IpEcn       "nw_ecn"        "NXM_NX_IP_ECN"          2 Decimal     (0x8000 9 1)    (1 28 1);
    IpTtl       "nw_ttl"        "NXM_NX_IP_TTL"          8 Decimal     (1 29 1)        (1 29 1);
    IpFrag      "ip_frag"       "NXM_NX_IP_FRAG"         2 Fragment    (1 26 1)        (1 26 1);
    IpProto     "nw_proto"      "NXM_OF_IP_PROTO"        8 Decimal     (0x8000 10 1)   (0 6 1);
    Ipv4Src     "ip_src"        "NXM_OF_IP_SRC"         32 Ipv4        (0x8000 11 4)   (0 7 4);
    Ipv4Dst     "ip_dst"        "NXM_OF_IP_DST"         32 Ipv4        (0x8000 12 4)   (0 8 4);
    Ipv6Src     "ipv6_src"      "NXM_NX_IPV6_SRC"      128 Ipv6        (0x8000 26 16)  (1 19 16);
    Ipv6Dst     "ipv6_dst"      "NXM_NX_IPV6_DST"      128 Ipv6        (0x8000 27 16)  (1 20 16);
    Ipv6Label   "ipv6_label"    "NXM_NX_IPV6_LABEL"     20 Hexadecimal (0x8000 28 4)   (1 27 4);
    TcpSrc      "tcp_src"       "NXM_OF_TCP_SRC"        16 Decimal     (0x8000 13 2)   (0 9 2);
    TcpDst      "tcp_dst"       "NXM_OF_TCP_DST"        16 Decimal     (0x8000 14 2)   (0 10 2);
    TcpFlags    "tcp_flags"     "NXM_NX_TCP_FLAGS"      12 TcpFlags    (0x8000 42 2)   (1 34 2);
    UdpSrc      "udp_src"       "NXM_OF_UDP_SRC"        16 Decimal     (0x8000 15 2)   (0 11 2);
    UdpDst      "udp_dst"       "NXM_OF_UDP_DST"        16 Decimal     (0x8000 16 2)   (0 12 2);
    SctpSrc     "sctp_src"      "OXM_OF_SCTP_SRC"       16 Decimal     (0x8000 17 2)   (0x8000 17 2);
    SctpDst     "sctp_dst"      "OXM_OF_SCTP_DST"       16 Decimal     (0x8000 18 2)   (0x8000 18 2);
    IcmpType    "icmp_type"     "NXM_OF_ICMP_TYPE"       8 Decimal     (0x8000 19 1)   (0 13 1);
    IcmpCode    "icmp_code"     "NXM_OF_ICMP_CODE"       8 Decimal     (0x8000 20 1)   (0 14 1);
    Icmpv6Type  "icmpv6_type"   "NXM_NX_ICMPV6_TYPE"     8 Decimal     (0x8000 29 1)   (1 21 1);
    Icmpv6Code  "icmpv6_code"   "NXM_NX_ICMPV6_CODE"     8 Decimal     (0x8000 30 1)   (1 22 1);
    NdTarget    "nd_target"     "NXM_NX_ND_TARGET"     128 Ipv6        (0x8000 31 16)  (1 23 16);
    NdSll       "nd_sll"        "NXM_NX_ND_SLL"         48 Ethernet    (0x8000 32 6)   (1 24 6);
    NdTll       "nd_tll"        "NXM_NX_ND_TLL"         48 Ethernet    (0x8000 33 6)   (1 25 6);
    ArpOp       "arp_op"        "NXM_OF_ARP_OP"         16 Decimal     (0x8000 21 2)   (0 15 2);
    ArpSpa      "arp_spa"       "NXM_OF_ARP_SPA"        32 Ipv4        (0x8000 22 4)   (0 16 4);
    ArpTpa      "arp_tpa"       "NXM_OF_ARP_TPA"        32 Ipv4        (0x8000 23 4)   (0 17 4);
    ArpSha      "arp_sha"       "NXM_NX_ARP_SHA"        48 Ethernet    (0x8000 24 6)   (1 17 6);
    ArpTha      "arp_tha"       "NXM_NX_ARP_THA"        48 Ethernet    (0x8000 25 6)   (1 18 6);
    TunId       "tun_id"        "NXM_NX_TUN_ID"         64 Hexadecimal (0x8000 38 8)   (1 16 8);
    TunSrc      "tun_src"       "NXM_NX_TUN_IPV4_SRC"   32 Ipv4        (1 31 4)        (1 31 4);
    TunDst      "tun_dst"       "NXM_NX_TUN_IPV4_DST"   32 Ipv4        (1 32 4)        (1 32 4);
    TunIpv6Src  "tun_ipv6_src"  "NXM_NX_TUN_IPV6_SRC"  128 Ipv6        (1 109 16)      (1 109 16);
    TunIpv6Dst  "tun_ipv6_dst"  "NXM_NX_TUN_IPV6_DST"  128 Ipv6        (1 110 16)      (1 110 16);
    Metadata    "metadata"      "OXM_OF_METADATA"       64 Hexadecimal (0x8000 2 8)    (0x8000 2 8);
    PktMark     "pkt_mark"      "NXM_NX_PKT_MARK"       32 Hexadecimal (1 33 4)        (1 33 4);
    ConjId      "conj_id"       "NXM_NX_CONJ_ID"        32 Decimal     (1 37 4)        (1 37 4);
    CtState     "ct_state"      "NXM_NX_CT_STATE"       32 CtState     (1 105 4)       (1 105 4);
    CtZone      "ct_zone"       "NXM_NX_CT_ZONE"        16 Decimal     (1 106 2)       (1 106 2);
    CtMark      "ct_mark"       "NXM_NX_CT_MARK"        32 Hexadecimal (1 107 4)       (1 107 4);
    CtLabel     "ct_label"      "NXM_NX_CT_LABEL"      128 Hexadecimal (1 108 16)      (1 108 16);
    CtNwProto   "ct_nw_proto"   "NXM_NX_CT_NW_PROTO"     8 Decimal     (1 119 1)       (1 119 1);
    CtNwSrc     "ct_nw_src"     "NXM_NX_CT_NW_SRC"      32 Ipv4        (1 120 4)       (1 120 4);
    CtNwDst     "ct_nw_dst"     "NXM_NX_CT_NW_DST"      32 Ipv4        (1 121 4)       (1 121 4);
    CtIpv6Src   "ct_ipv6_src"   "NXM_NX_CT_IPV6_SRC"   128 Ipv6        (1 122 16)      (1 122 16);
    CtIpv6Dst   "ct_ipv6_dst"   "NXM_NX_CT_IPV6_DST"   128 Ipv6        (1 123 16)      (1 123 16);
    CtTpSrc     "ct_tp_src"     "NXM_NX_CT_TP_SRC"      16 Decimal     (1 124 2)       (1 124 2);
    CtTpDst     "ct_tp_dst"     "NXM_NX_CT_TP_DST"      16 Decimal     (1 125 2)       (1 125 2);
    Reg0        "reg0"          "NXM_NX_REG0"           32 Hexadecimal (1 0 4)         (1 0 4);
    Reg1        "reg1"          "NXM_NX_REG1"           32 Hexadecimal (1 1 4)         (1 1 4);
    Reg2        "reg2"          "NXM_NX_REG2"           32 Hexadecimal (1 2 4)         (1 2 4);
    Reg3        "reg3"          "NXM_NX_REG3"           32 Hexadecimal (1 3 4)         (1 3 4);
    Reg4        "reg4"          "NXM_NX_REG4"           32 Hexadecimal (1 4 4)         (1 4 4);
    Reg5        "reg5"          "NXM_NX_REG5"           32 Hexadecimal (1 5 4)         (1 5 4);
    Reg6        "reg6"          "NXM_NX_REG6"           32 Hexadecimal (1 6 4)         (1 6 4);
    Reg7        "reg7"          "NXM_NX_REG7"           32 Hexadecimal (1 7 4)         (1 7 4);
    Reg8        "reg8"          "NXM_NX_REG8"           32 Hexadecimal (1 8 4)         (1 8 4);
    Reg9        "reg9"          "NXM_NX_REG9"           32 Hexadecimal (1 9 4)         (1 9 4);
    Reg10       "reg10"         "NXM_NX_REG10"          32 Hexadecimal (1 10 4)        (1 10 4);
    Reg11       "reg11"         "NXM_NX_REG11"          32 Hexadecimal (1 11 4)        (1 11 4);
    Reg12       "reg12"         "NXM_NX_REG12"          32 Hexadecimal (1 12 4)        (1 12 4);
    Reg13       "reg13"         "NXM_NX_REG13"          32 Hexadecimal (1 13 4)        (1 13 4);
    Reg14       "reg14"         "NXM_NX_REG14"          32 Hexadecimal (1 14 4)        (1 14 4);
    Reg15       "reg15"         "NXM_NX_REG15"          32 Hexadecimal (1 15 4)        (1 15 4);
    Xreg0       "xreg0"         "OXM_OF_PKT_REG0"       64 Hexadecimal (0x8001 0 8)    (0x8001 0 8);
    Xreg1       "xreg1"         "OXM_OF_PKT_REG1"       64 Hexadecimal (0x8001 1 8)    (0x8001 1 8);
    Xreg2       "xreg2"         "OXM_OF_PKT_REG2"       64 Hexadecimal (0x8001 2 8)    (0x8001 2 8);
    Xreg3       "xreg3"         "OXM_OF_PKT_REG3"       64 Hexadecimal (0x8001 3 8)    (0x8001 3 8);
    Xreg4       "xreg4"         "OXM_OF_PKT_REG4"       64 Hexadecimal (0x8001 4 8)    (0x8001 4 8);
    Xreg5       "xreg5"         "OXM_OF_PKT_REG5"       64 Hexadecimal (0x8001 5 8)    (0x8001 5 8);
    Xreg6       "xreg6"         "OXM_OF_PKT_REG6"       64 Hexadecimal (0x8001 6 8)    (0x8001 6 8);
    Xreg7       "xreg7"         "OXM_OF_PKT_REG7"       64 Hexadecimal (0x8001 7 8)    (0x8001 7 8);
    Xxreg0      "xxreg0"        "NXM_NX_XXREG0"        128 Hexadecimal (1 111 16)      (1 111 16);
    Xxreg1      "xxreg1"        "NXM_NX_XXREG1"        128 Hexadecimal (1 112 16)      (1 112 16);
    Xxreg2      "xxreg2"        "NXM_NX_XXREG2"        128 Hexadecimal (1 113 16)      (1 113 16);
    Xxreg3      "xxreg3"        "NXM_NX_XXREG3"        128 Hexadecimal (1 114 16)      (1 114 16);
}

impl Field {
    /// The 32-bit registers.
    pub const REGISTERS: [Self; 16] = [
        Self::Reg0,
        Self::Reg1,
        Self::Reg2,
        Self::Reg3,
        Self::Reg4,
        Self::Reg5,
        Self::Reg6,
        Self::Reg7,
        Self::Reg8,
        Self::Reg9,
        Self::Reg10,
        Self::Reg11,
        Self::Reg12,
        Self::Reg13,
        Self::Reg14,
        Self::Reg15,
    ];

    /// The name that `set_field` has for it.
    pub const fn name(self) -> &'static str {
        self.description().name
    }

    /// The name that `move`, `load` and `learn` have for it.
    pub const fn nxm_name(self) -> &'static str {
        self.description().nxm_name
    }

    /// Its width.
    pub const fn bits(self) -> u16 {
        self.description().bits
    }

    /// A mask of all its bits, right-aligned. Two are wider than what `move` may touch: `vlan_vid` has the tag's presence
    /// above it (`OFPVID_PRESENT`), and `in_port` the numbers of OpenFlow 1.1 and later.
    pub const fn full_mask(self) -> u128 {
        match self {
            Self::InPort => low_bits(32),
            Self::VlanVid => low_bits(13),
            _ => low_bits(self.bits()),
        }
    }

    /// The 32-bit registers that a wider register is made of, the most significant first; none for other fields.
    pub(crate) fn registers(self) -> &'static [Self] {
        const fn part(first: usize, count: usize) -> &'static [Field] {
            Field::REGISTERS.split_at(first).1.split_at(count).0
        }
        match self {
            Self::Xreg0 => const { part(0, 2) },
            Self::Xreg1 => const { part(2, 2) },
            Self::Xreg2 => const { part(4, 2) },
            Self::Xreg3 => const { part(6, 2) },
            Self::Xreg4 => const { part(8, 2) },
            Self::Xreg5 => const { part(10, 2) },
            Self::Xreg6 => const { part(12, 2) },
            Self::Xreg7 => const { part(14, 2) },
            Self::Xxreg0 => const { part(0, 4) },
            Self::Xxreg1 => const { part(4, 4) },
            Self::Xxreg2 => const { part(8, 4) },
            Self::Xxreg3 => const { part(12, 4) },
            _ => &[],
        }
    }

    /// The field that a header's class and number stand for, be it OXM's number or NXM's.
    pub(crate) fn by_code(class: u16, number: u8) -> Option<Self> {
        Self::EVERY.iter().copied().find(|field| {
            let Description { oxm, nxm, .. } = field.description();
            [oxm, nxm].iter().any(|code| code.class == class && code.number == number)
        })
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The `count` least significant bits.
pub(crate) const fn low_bits(count: u16) -> u128 {
    if count >= 128 { u128::MAX } else { (1 << count) - 1 }
}

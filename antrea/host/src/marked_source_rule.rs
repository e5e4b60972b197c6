//! The rule that puts a source MAC on packets with a mark, as expressions of nf_tables (linux/netfilter/nf_tables.h).
//!
//! They are those that nft(8) makes of `meta mark & MARK != 0 ether saddr set MAC`.

use antrea_hostplan::MarkedSource;

use crate::device_chain::TABLE;
use crate::nfnetlink::{Attributes, attributes};

const NFTA_RULE_TABLE: u16 = 1;
const NFTA_RULE_CHAIN: u16 = 2;
pub(crate) const NFTA_RULE_EXPRESSIONS: u16 = 4;
const NFTA_LIST_ELEM: u16 = 1;
const NFTA_EXPR_NAME: u16 = 1;
const NFTA_EXPR_DATA: u16 = 2;
const NFTA_DATA_VALUE: u16 = 1;

const NFTA_META_DREG: u16 = 1;
const NFTA_META_KEY: u16 = 2;
const NFT_META_MARK: u32 = 3;
const NFT_META_IIFTYPE: u32 = 8;

const NFTA_BITWISE_SREG: u16 = 1;
const NFTA_BITWISE_DREG: u16 = 2;
const NFTA_BITWISE_LEN: u16 = 3;
const NFTA_BITWISE_MASK: u16 = 4;
const NFTA_BITWISE_XOR: u16 = 5;
const NFTA_BITWISE_OP: u16 = 6;
const NFT_BITWISE_MASK_XOR: u32 = 0;

const NFTA_CMP_SREG: u16 = 1;
const NFTA_CMP_OP: u16 = 2;
const NFTA_CMP_DATA: u16 = 3;
const NFT_CMP_EQ: u32 = 0;
const NFT_CMP_NEQ: u32 = 1;

const NFTA_IMMEDIATE_DREG: u16 = 1;
const NFTA_IMMEDIATE_DATA: u16 = 2;

const NFTA_PAYLOAD_BASE: u16 = 2;
const NFTA_PAYLOAD_OFFSET: u16 = 3;
const NFTA_PAYLOAD_LEN: u16 = 4;
const NFTA_PAYLOAD_SREG: u16 = 5;
const NFTA_PAYLOAD_CSUM_TYPE: u16 = 6;
const NFTA_PAYLOAD_CSUM_OFFSET: u16 = 7;
const NFTA_PAYLOAD_CSUM_FLAGS: u16 = 8;
const NFT_PAYLOAD_LL_HEADER: u32 = 0;
const NFT_PAYLOAD_CSUM_NONE: u32 = 0;

/// The register that each expression leaves its value in for the next.
const REGISTER: u32 = 1;

/// The type of Ethernet devices (linux/if_arp.h), the only ones whose frames begin with two MACs.
const ARPHRD_ETHER: u16 = 1;

/// Where a frame has its source MAC, and how long that is.
const SOURCE_MAC_OFFSET: u32 = 6;
const MAC_BYTES: u32 = 6;

/// Rules of a chain.
pub(crate) fn rule_of(chain: &str) -> Attributes {
    Attributes::default().text(NFTA_RULE_TABLE, TABLE).text(NFTA_RULE_CHAIN, chain)
}

/// What the rule does, in this order; a comparison that fails ends it.
pub(crate) fn expressions(wanted: &MarkedSource) -> Vec<Attributes> {
    vec![
        load_meta(NFT_META_MARK),
        keep_bits(wanted.mark),
        compare(NFT_CMP_NEQ, &0_u32.to_ne_bytes()),
        load_meta(NFT_META_IIFTYPE),
        compare(NFT_CMP_EQ, &ARPHRD_ETHER.to_ne_bytes()),
        load(&wanted.mac.octets()),
        write_source_mac(),
    ]
}

/// Expressions as the rule has them.
pub(crate) fn listed(expressions: &[Attributes]) -> Attributes {
    let add = |list: Attributes, expression| list.nested(NFTA_LIST_ELEM, expression);
    expressions.iter().fold(Attributes::default(), add)
}

/// Whether a rule has these expressions and no others.
pub(crate) fn hold(found: &[u8], wanted: &[Attributes]) -> bool {
    let found: Vec<&[u8]> = attributes(found).map(|(_, expression)| expression).collect();
    found.len() == wanted.len() && wanted.iter().zip(found).all(|(wanted, found)| wanted.are_in(found))
}

fn load_meta(key: u32) -> Attributes {
    let data = Attributes::default().number(NFTA_META_KEY, key).number(NFTA_META_DREG, REGISTER);
    expression("meta", &data)
}

/// Marks are in the Node's byte order.
fn keep_bits(mask: u32) -> Attributes {
    let data = Attributes::default()
        .number(NFTA_BITWISE_SREG, REGISTER)
        .number(NFTA_BITWISE_DREG, REGISTER)
        .number(NFTA_BITWISE_OP, NFT_BITWISE_MASK_XOR)
        .number(NFTA_BITWISE_LEN, u32::BITS / 8)
        .nested(NFTA_BITWISE_MASK, &value(&mask.to_ne_bytes()))
        .nested(NFTA_BITWISE_XOR, &value(&0_u32.to_ne_bytes()));
    expression("bitwise", &data)
}

fn compare(operation: u32, with: &[u8]) -> Attributes {
    let data = Attributes::default()
        .number(NFTA_CMP_SREG, REGISTER)
        .number(NFTA_CMP_OP, operation)
        .nested(NFTA_CMP_DATA, &value(with));
    expression("cmp", &data)
}

fn load(bytes: &[u8]) -> Attributes {
    let data = Attributes::default()
        .number(NFTA_IMMEDIATE_DREG, REGISTER)
        .nested(NFTA_IMMEDIATE_DATA, &value(bytes));
    expression("immediate", &data)
}

/// No checksum covers it.
fn write_source_mac() -> Attributes {
    let data = Attributes::default()
        .number(NFTA_PAYLOAD_SREG, REGISTER)
        .number(NFTA_PAYLOAD_BASE, NFT_PAYLOAD_LL_HEADER)
        .number(NFTA_PAYLOAD_OFFSET, SOURCE_MAC_OFFSET)
        .number(NFTA_PAYLOAD_LEN, MAC_BYTES)
        .number(NFTA_PAYLOAD_CSUM_TYPE, NFT_PAYLOAD_CSUM_NONE)
        .number(NFTA_PAYLOAD_CSUM_OFFSET, 0)
        .number(NFTA_PAYLOAD_CSUM_FLAGS, 0);
    expression("payload", &data)
}

fn expression(name: &str, data: &Attributes) -> Attributes {
    Attributes::default().text(NFTA_EXPR_NAME, name).nested(NFTA_EXPR_DATA, data)
}

fn value(bytes: &[u8]) -> Attributes {
    Attributes::default().bytes(NFTA_DATA_VALUE, bytes)
}

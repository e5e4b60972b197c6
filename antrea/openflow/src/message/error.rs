//! Failed requests (OpenFlow 1.5 §7.5.4): type, code, and the beginning of the request.

use std::fmt;

use crate::codec::actions::NICIRA;
use crate::codec::error::DecodeError;
use crate::codec::reader::Reader;
use crate::codec::writer::{put_u16, put_u32};

/// `OFPET_EXPERIMENTER`.
const EXPERIMENTER: u16 = 0xffff;

/// The answer to a request that failed; its transaction is that of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorMessage {
    /// What is wrong.
    pub code: ErrorCode,
    /// The request, at least its first 64 bytes.
    pub request: Vec<u8>,
}

/// What is wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorCode {
    /// An error of OpenFlow's: type (`OFPET_*`) and code.
    OpenFlow(u16, u16),
    /// An error of OVS's.
    Nicira(u16),
    /// An error of somebody else's: experimenter and code.
    Experimenter(u32, u16),
}

macro_rules! errors {
    ($($(#[$doc:meta])* $constant:ident = $variant:ident($($number:literal),+) $name:literal $meaning:literal;)*) => {
        impl ErrorCode {
            $(#[doc = concat!("`", $name, "`: ", $meaning, ".")] pub const $constant: Self = Self::$variant($($number),+);)*

            /// The name that OVS has for it, and what it means.
            pub fn name_and_meaning(self) -> Option<(&'static str, &'static str)> {
                match self {
                    $(Self::$constant => Some(($name, $meaning)),)*
                    _ => None,
                }
            }
        }
    };
}

errors! {
    HELLO_INCOMPATIBLE = OpenFlow(0, 0) "OFPHFC_INCOMPATIBLE" "no version in common";
    HELLO_PERMISSION = OpenFlow(0, 1) "OFPHFC_EPERM" "no permission to connect";
    BAD_VERSION = OpenFlow(1, 0) "OFPBRC_BAD_VERSION" "version not supported";
    BAD_TYPE = OpenFlow(1, 1) "OFPBRC_BAD_TYPE" "message type not supported";
    BAD_MULTIPART = OpenFlow(1, 2) "OFPBRC_BAD_STAT" "multipart type not supported";
    BAD_EXPERIMENTER = OpenFlow(1, 3) "OFPBRC_BAD_VENDOR" "experimenter not supported";
    BAD_EXPERIMENTER_TYPE = OpenFlow(1, 4) "OFPBRC_BAD_SUBTYPE" "experimenter's message type not supported";
    REQUEST_PERMISSION = OpenFlow(1, 5) "OFPBRC_EPERM" "no permission for the request";
    BAD_LENGTH = OpenFlow(1, 6) "OFPBRC_BAD_LEN" "wrong length for the type";
    BAD_TABLE_ID = OpenFlow(1, 9) "OFPBRC_BAD_TABLE_ID" "table does not exist";
    IS_SECONDARY = OpenFlow(1, 10) "OFPBRC_IS_SECONDARY" "controller is secondary";
    BAD_PORT = OpenFlow(1, 11) "OFPBRC_BAD_PORT" "port does not exist";
    BAD_PACKET = OpenFlow(1, 12) "OFPBRC_BAD_PACKET" "invalid packet in packet-out";
    ACTION_BAD_TYPE = OpenFlow(2, 0) "OFPBAC_BAD_TYPE" "action type not supported";
    ACTION_BAD_LENGTH = OpenFlow(2, 1) "OFPBAC_BAD_LEN" "wrong length of an action";
    ACTION_BAD_EXPERIMENTER = OpenFlow(2, 2) "OFPBAC_BAD_VENDOR" "experimenter of an action not supported";
    ACTION_BAD_EXPERIMENTER_TYPE = OpenFlow(2, 3) "OFPBAC_BAD_VENDOR_TYPE" "experimenter's action not supported";
    ACTION_BAD_PORT = OpenFlow(2, 4) "OFPBAC_BAD_OUT_PORT" "output port does not exist";
    ACTION_BAD_ARGUMENT = OpenFlow(2, 5) "OFPBAC_BAD_ARGUMENT" "bad argument of an action";
    ACTION_BAD_GROUP = OpenFlow(2, 9) "OFPBAC_BAD_OUT_GROUP" "group of an action does not exist";
    ACTION_INCONSISTENT = OpenFlow(2, 10) "OFPBAC_MATCH_INCONSISTENT" "action needs what the match does not demand";
    ACTION_BAD_FIELD = OpenFlow(2, 13) "OFPBAC_BAD_SET_TYPE" "field of an action not supported";
    ACTION_BAD_RANGE = OpenFlow(2, 14) "OFPBAC_BAD_SET_LEN" "action reaches beyond the field";
    ACTION_BAD_VALUE = OpenFlow(2, 15) "OFPBAC_BAD_SET_ARGUMENT" "value of an action not supported";
    INSTRUCTION_BAD_TABLE = OpenFlow(3, 2) "OFPBIC_BAD_TABLE_ID" "goto_table to an invalid table";
    MATCH_BAD_LENGTH = OpenFlow(4, 1) "OFPBMC_BAD_LEN" "wrong length in the match";
    MATCH_BAD_WILDCARDS = OpenFlow(4, 5) "OFPBMC_BAD_WILDCARDS" "value has bits that the mask does not";
    MATCH_BAD_FIELD = OpenFlow(4, 6) "OFPBMC_BAD_FIELD" "field not supported in a match";
    MATCH_BAD_VALUE = OpenFlow(4, 7) "OFPBMC_BAD_VALUE" "value not supported in a match";
    MATCH_BAD_MASK = OpenFlow(4, 8) "OFPBMC_BAD_MASK" "mask not supported for the field";
    MATCH_PREREQUISITE = OpenFlow(4, 9) "OFPBMC_BAD_PREREQ" "match lacks what a field depends on";
    MATCH_DUPLICATE = OpenFlow(4, 10) "OFPBMC_DUP_FIELD" "field stands twice in the match";
    FLOW_UNKNOWN = OpenFlow(5, 0) "OFPFMFC_UNKNOWN" "flow not changed";
    FLOW_TABLE_FULL = OpenFlow(5, 1) "OFPFMFC_TABLE_FULL" "table is full";
    FLOW_BAD_TABLE = OpenFlow(5, 2) "OFPFMFC_BAD_TABLE_ID" "table does not exist";
    FLOW_OVERLAP = OpenFlow(5, 3) "OFPFMFC_OVERLAP" "flow overlaps with another of its priority";
    FLOW_PERMISSION = OpenFlow(5, 4) "OFPFMFC_EPERM" "no permission for the flow";
    FLOW_BAD_COMMAND = OpenFlow(5, 6) "OFPFMFC_BAD_COMMAND" "flow command not supported";
    FLOW_BAD_FLAGS = OpenFlow(5, 7) "OFPFMFC_BAD_FLAGS" "flags not supported";
    GROUP_EXISTS = OpenFlow(6, 0) "OFPGMFC_GROUP_EXISTS" "group is there already";
    GROUP_INVALID = OpenFlow(6, 1) "OFPGMFC_INVALID_GROUP" "group is invalid";
    GROUP_TABLE_FULL = OpenFlow(6, 3) "OFPGMFC_OUT_OF_GROUPS" "group table is full";
    GROUP_TOO_MANY_BUCKETS = OpenFlow(6, 4) "OFPGMFC_OUT_OF_BUCKETS" "group has too many buckets";
    GROUP_LOOP = OpenFlow(6, 7) "OFPGMFC_LOOP" "group would go through itself";
    GROUP_UNKNOWN = OpenFlow(6, 8) "OFPGMFC_UNKNOWN_GROUP" "group does not exist";
    GROUP_IN_USE = OpenFlow(6, 9) "OFPGMFC_CHAINED_GROUP" "another group goes through the group";
    GROUP_BAD_TYPE = OpenFlow(6, 10) "OFPGMFC_BAD_TYPE" "group type not supported";
    GROUP_BAD_COMMAND = OpenFlow(6, 11) "OFPGMFC_BAD_COMMAND" "group command not supported";
    GROUP_BAD_BUCKET = OpenFlow(6, 12) "OFPGMFC_BAD_BUCKET" "error in a bucket";
    GROUP_UNKNOWN_BUCKET = OpenFlow(6, 15) "OFPGMFC_UNKNOWN_BUCKET" "bucket does not exist";
    GROUP_BUCKET_EXISTS = OpenFlow(6, 16) "OFPGMFC_BUCKET_EXISTS" "bucket is there already";
    METER_UNKNOWN_ERROR = OpenFlow(12, 0) "OFPMMFC_UNKNOWN" "meter not changed";
    METER_EXISTS = OpenFlow(12, 1) "OFPMMFC_METER_EXISTS" "meter is there already";
    METER_INVALID = OpenFlow(12, 2) "OFPMMFC_INVALID_METER" "meter is invalid";
    METER_UNKNOWN = OpenFlow(12, 3) "OFPMMFC_UNKNOWN_METER" "meter does not exist";
    METER_BAD_FLAGS = OpenFlow(12, 5) "OFPMMFC_BAD_FLAGS" "meter flags not supported";
    METER_BAD_RATE = OpenFlow(12, 6) "OFPMMFC_BAD_RATE" "rate not supported";
    METER_BAD_BURST = OpenFlow(12, 7) "OFPMMFC_BAD_BURST" "burst not supported";
    METER_BAD_BAND = OpenFlow(12, 8) "OFPMMFC_BAD_BAND" "band not supported";
    METER_TABLE_FULL = OpenFlow(12, 10) "OFPMMFC_OUT_OF_METERS" "no more meters available";
    TABLE_FEATURES_BAD_TABLE = OpenFlow(13, 0) "OFPTFFC_BAD_TABLE" "table to be set up does not exist";
    TABLE_FEATURES_PERMISSION = OpenFlow(13, 5) "OFPTFFC_EPERM" "no permission to set up the table";
    PROPERTY_BAD_TYPE = OpenFlow(14, 0) "OFPBPC_BAD_TYPE" "property not supported";
    PROPERTY_BAD_LENGTH = OpenFlow(14, 1) "OFPBPC_BAD_LEN" "wrong length of a property";
    PROPERTY_BAD_VALUE = OpenFlow(14, 2) "OFPBPC_BAD_VALUE" "value of a property not supported";
    BUNDLE_UNKNOWN_ERROR = OpenFlow(17, 0) "OFPBFC_UNKNOWN" "bundle failed";
    BUNDLE_BAD_ID = OpenFlow(17, 2) "OFPBFC_BAD_ID" "bundle does not exist";
    BUNDLE_EXISTS = OpenFlow(17, 3) "OFPBFC_BUNDLE_EXIST" "bundle is there already";
    BUNDLE_CLOSED = OpenFlow(17, 4) "OFPBFC_BUNDLE_CLOSED" "bundle is closed";
    BUNDLE_TOO_MANY = OpenFlow(17, 5) "OFPBFC_OUT_OF_BUNDLES" "too many bundles";
    BUNDLE_BAD_FLAGS = OpenFlow(17, 7) "OFPBFC_BAD_FLAGS" "flags of the bundle not supported or not the same";
    BUNDLE_MESSAGE_UNSUPPORTED = OpenFlow(17, 10) "OFPBFC_MSG_UNSUP" "message not supported in a bundle";
    BUNDLE_MESSAGE_FAILED = OpenFlow(17, 13) "OFPBFC_MSG_FAILED" "a message of the bundle failed";
    BUNDLE_TIMEOUT = OpenFlow(17, 14) "OFPBFC_TIMEOUT" "bundle took too long";
    NX_NXM_INVALID = Nicira(2) "NXBRC_NXM_INVALID" "invalid match";
    NX_NXM_BAD_TYPE = Nicira(3) "NXBRC_NXM_BAD_TYPE" "field of a match not supported";
    NX_MUST_BE_ZERO = Nicira(4) "NXBRC_MUST_BE_ZERO" "padding is not zero";
    NX_ACTION_MUST_BE_ZERO = Nicira(11) "NXBAC_MUST_BE_ZERO" "padding of an action is not zero";
    NX_BAD_CONJUNCTION = Nicira(15) "NXBAC_BAD_CONJUNCTION" "conjunction() must stand alone, with 1 <= k <= n and 2 <= n <= 64";
    NX_BUNDLE_BAD_VERSION = Nicira(22) "OFPBFC_BAD_VERSION" "message of a bundle is of another version";
    NX_RESUME_NOT_SUPPORTED = Nicira(34) "NXR_NOT_SUPPORTED" "datapath cannot resume packets";
    NX_RESUME_STALE = Nicira(35) "NXR_STALE" "packet cannot be resumed any more";
    NX_CT_NOT_SUPPORTED = Nicira(42) "NXBAC_CT_DATAPATH_SUPPORT" "datapath lacks the connection tracking of an action";
    NX_CT_MATCH_NOT_SUPPORTED = Nicira(43) "NXBMC_CT_DATAPATH_SUPPORT" "datapath lacks the connection tracking of a match";
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (*self, self.name_and_meaning()) {
            (_, Some((name, meaning))) => write!(f, "{meaning} ({name})"),
            (Self::OpenFlow(kind, code), None) => write!(f, "OpenFlow error type {kind}, code {code}"),
            (Self::Nicira(code), None) => write!(f, "Open vSwitch error {code}"),
            (Self::Experimenter(id, code), None) => write!(f, "error {code} of experimenter {id:#010x}"),
        }
    }
}

impl std::error::Error for ErrorCode {}

impl ErrorMessage {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let (kind, code, experimenter) = match self.code {
            ErrorCode::OpenFlow(kind, code) => (kind, code, None),
            ErrorCode::Nicira(code) => (EXPERIMENTER, code, Some(NICIRA)),
            ErrorCode::Experimenter(id, code) => (EXPERIMENTER, code, Some(id)),
        };
        put_u16(out, kind);
        put_u16(out, code);
        if let Some(id) = experimenter {
            put_u32(out, id);
        }
        out.extend(&self.request);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (kind, code) = (reader.u16()?, reader.u16()?);
        let code = match kind {
            EXPERIMENTER => match reader.u32()? {
                NICIRA => ErrorCode::Nicira(code),
                other => ErrorCode::Experimenter(other, code),
            },
            kind => ErrorCode::OpenFlow(kind, code),
        };
        Ok(Self { code, request: reader.rest().to_vec() })
    }
}

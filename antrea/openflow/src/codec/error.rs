//! Why bytes are not a message.

/// Bytes that break the format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// They end too soon.
    #[error("{what} ends too soon: {wanted} bytes are wanted where {left} are left")]
    Truncated {
        /// What was being read.
        what: &'static str,
        /// The bytes wanted.
        wanted: usize,
        /// The bytes left.
        left: usize,
    },
    /// A length that the format does not allow.
    #[error("{what} has an impossible length of {length} bytes")]
    Length {
        /// What was being read.
        what: &'static str,
        /// The length it says it has.
        length: usize,
    },
    /// A value that the format does not allow.
    #[error("{what} has the unknown value {value:#x}")]
    Value {
        /// What was being read.
        what: &'static str,
        /// The value.
        value: u64,
    },
    /// A message of another protocol version.
    #[error("the message is of OpenFlow version {version:#04x}, not of 0x06 (1.5)")]
    Version {
        /// The version on the wire.
        version: u8,
    },
}

/// A message that is longer than OpenFlow can say (OpenFlow 1.5 §7.1: 65,535 bytes).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {what} message takes {length} bytes, but OpenFlow messages end at 65535: split it")]
pub struct TooLong {
    /// The kind of message.
    pub what: &'static str,
    /// The bytes it takes.
    pub length: usize,
}

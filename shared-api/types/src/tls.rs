//! TLS, as configuration names it and servers speak it.

/// The oldest TLS version that a server speaks. Older ones than these are not implemented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MinimumTls {
    /// RFC 5246.
    V1_2,
    /// RFC 8446.
    V1_3,
}

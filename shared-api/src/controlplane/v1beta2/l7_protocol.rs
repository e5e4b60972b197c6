//! What rules ask of application protocols.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protobuf::message;

/// One of the protocols.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct L7Protocol {
    /// HTTP requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpProtocol>,
    /// TLS handshakes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsProtocol>,
}

/// What is asked of HTTP requests. Empty texts ask for nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HttpProtocol {
    /// The host, exact or with `*`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// The method.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub method: String,
    /// The path, exact or with `*`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
}

/// What is asked of TLS handshakes. An empty text asks for nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TlsProtocol {
    /// The server name (RFC 6066 §3).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sni: String,
}

message!(L7Protocol { 1 http, 2 tls });
message!(HttpProtocol { 1 host, 2 method, 3 path });
message!(TlsProtocol { 1 sni });

//! Names of tables and ports for text; numbers where there is none.

use std::fmt;

use antrea_types::OfPort;

use crate::TableId;

/// Resolves numbers into the names that a bridge gives its tables and ports.
pub trait Names {
    /// The name of a table.
    fn table(&self, _table: TableId) -> Option<&str> {
        None
    }

    /// The name of a port.
    fn port(&self, _port: OfPort) -> Option<&str> {
        None
    }
}

/// No names: text with numbers, as `ovs-ofctl --no-names` prints.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers;

impl Names for Numbers {}

/// Table names from a function, port numbers.
pub struct TableNames<'a>(pub &'a dyn Fn(TableId) -> Option<&'a str>);

impl Names for TableNames<'_> {
    fn table(&self, table: TableId) -> Option<&str> {
        (self.0)(table)
    }
}

/// Ports that OpenFlow reserves (OpenFlow 1.5 §7.2.1, `OFPP_*`).
pub mod reserved_port {
    use antrea_types::OfPort;

    /// Back where the packet came from; not by number, which OpenFlow forbids.
    pub const IN_PORT: OfPort = OfPort(0xffff_fff8);
    /// The flow tables, in a packet-out.
    pub const TABLE: OfPort = OfPort(0xffff_fff9);
    /// The learning switch in OVS.
    pub const NORMAL: OfPort = OfPort(0xffff_fffa);
    /// All ports but the ingress port and those that do not flood.
    pub const FLOOD: OfPort = OfPort(0xffff_fffb);
    /// All ports but the ingress port.
    pub const ALL: OfPort = OfPort(0xffff_fffc);
    /// The controllers.
    pub const CONTROLLER: OfPort = OfPort(0xffff_fffd);
    /// The bridge's own interface.
    pub const LOCAL: OfPort = OfPort(0xffff_fffe);
    /// No port in particular, in requests that select flows.
    pub const ANY: OfPort = OfPort(0xffff_ffff);
}

/// The word for a reserved port.
pub(crate) fn reserved_name(port: OfPort) -> Option<&'static str> {
    Some(match port {
        reserved_port::IN_PORT => "IN_PORT",
        reserved_port::TABLE => "TABLE",
        reserved_port::NORMAL => "NORMAL",
        reserved_port::FLOOD => "FLOOD",
        reserved_port::ALL => "ALL",
        reserved_port::CONTROLLER => "CONTROLLER",
        reserved_port::LOCAL => "LOCAL",
        reserved_port::ANY => "ANY",
        _ => return None,
    })
}

/// Writes a port as `ovs-ofctl` does: reserved word, quoted name, or number.
pub(crate) fn write_port(f: &mut fmt::Formatter<'_>, port: OfPort, names: &dyn Names) -> fmt::Result {
    match (reserved_name(port), names.port(port)) {
        (Some(word), _) => f.write_str(word),
        (None, Some(name)) => write_name(f, name),
        (None, None) => write!(f, "{port}"),
    }
}

/// Writes a table as `ovs-ofctl` does: name or number.
pub(crate) fn write_table(f: &mut fmt::Formatter<'_>, table: TableId, names: &dyn Names) -> fmt::Result {
    match names.table(table) {
        Some(name) => write_name(f, name),
        None => write!(f, "{table}"),
    }
}

/// Names of letters and digits stand bare, others in quotes.
fn write_name(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    let bare = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if bare { f.write_str(name) } else { write!(f, "{name:?}") }
}

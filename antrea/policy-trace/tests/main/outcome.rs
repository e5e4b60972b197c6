//! What becomes of a packet, as `ofproto/trace` tells it.

use std::fmt;

use antrea_openflow::TableId;
use antrea_pipeline::Pipeline;

/// Where a packet ends.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    DeniedAtEgress,
    DeniedAtIngress,
    /// It leaves by the port of this name,
    Leaves(String),
    /// or into the tunnel.
    Tunnelled,
    /// Anything else: the last table that it comes to, and what is done there.
    Lost(String),
}

impl Outcome {
    /// Of a trace with names of ports. Connection tracking makes several passes of it; the last one counts.
    pub(crate) fn of(trace: &str, pipeline: &Pipeline) -> Self {
        let number = trace.lines().rev().find_map(table).unwrap_or(TableId::ALL);
        let names = pipeline.table_names();
        let table = names.iter().find(|(id, _)| *id == number).map_or("no table", |(_, name)| *name);
        let actions = trace.rsplit("Datapath actions: ").next().unwrap_or_default().trim();
        let last = actions.rsplit(',').next().unwrap_or_default();
        match (table, last) {
            ("EgressDefaultRule", "drop") => Self::DeniedAtEgress,
            ("IngressDefaultRule", "drop") => Self::DeniedAtIngress,
            // No packet comes from where it is sent to: of the underlay a trace knows nothing.
            ("Output", "drop") if trace.trim_end().contains("-> output port is 32768\n") => Self::Tunnelled,
            ("Output", port) if port != "drop" => Self::Leaves(port.to_owned()),
            _ => Self::Lost(format!("{table}: {actions}")),
        }
    }
}

/// The table of a line such as ` 4. ip,in_port=2, priority 200`.
fn table(line: &str) -> Option<TableId> {
    line.trim_start().split_once(". ")?.0.parse().ok().map(TableId)
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DeniedAtEgress => f.write_str("denied at egress"),
            Self::DeniedAtIngress => f.write_str("denied at ingress"),
            Self::Leaves(port) => write!(f, "leaves by {port}"),
            Self::Tunnelled => f.write_str("leaves by the tunnel"),
            Self::Lost(last) => write!(f, "lost in {last}"),
        }
    }
}

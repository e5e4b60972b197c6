//! Text of flows with what they counted, in the spelling of `ovs-ofctl dump-flows`.

use std::fmt;
use std::time::Duration;

use crate::flow::{write_flow_actions, write_priority_and_match};
use crate::message::FlowEntry;
use crate::names::{Names, Numbers, write_table};

/// More seconds than a switch counts stand for an age that it does not know.
const UNKNOWN: u64 = u32::MAX as u64;

/// A flow of a table with names for tables and ports.
pub struct FlowEntryText<'a> {
    entry: &'a FlowEntry,
    names: &'a dyn Names,
}

impl FlowEntry {
    /// The text with names of tables and ports, as a line of `ovs-ofctl dump-flows`.
    pub fn display<'a>(&'a self, names: &'a dyn Names) -> FlowEntryText<'a> {
        FlowEntryText { entry: self, names }
    }
}

impl fmt::Display for FlowEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.display(&Numbers).fmt(f)
    }
}

impl fmt::Display for FlowEntryText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FlowEntry { flow, statistics } = self.entry;
        write!(f, "cookie={}, duration=", flow.cookie)?;
        write_duration(f, statistics.duration)?;
        f.write_str(", table=")?;
        write_table(f, flow.table, self.names)?;
        // All ones are on the wire what is not counted.
        let (packets, bytes) = (statistics.packets.unwrap_or(u64::MAX), statistics.bytes.unwrap_or(u64::MAX));
        write!(f, ", n_packets={packets}, n_bytes={bytes}, ")?;
        for (key, number) in [("idle_timeout", flow.idle_timeout), ("hard_timeout", flow.hard_timeout)] {
            if number != 0 {
                write!(f, "{key}={number}, ")?;
            }
        }
        write!(f, "{}", flow.flags)?;
        if flow.importance != 0 {
            write!(f, "importance={}, ", flow.importance)?;
        }
        if statistics.idle.as_secs() < UNKNOWN {
            write!(f, "idle_age={}, ", statistics.idle.as_secs())?;
        }
        write_priority_and_match(f, flow, self.names)?;
        f.write_str("actions=")?;
        write_flow_actions(f, flow, self.names)
    }
}

/// As many digits as it takes: none, or milli-, micro- or nanoseconds.
fn write_duration(f: &mut fmt::Formatter<'_>, duration: Duration) -> fmt::Result {
    let (seconds, nanoseconds) = (duration.as_secs(), duration.subsec_nanos());
    if seconds >= UNKNOWN {
        return f.write_str("?");
    }
    match nanoseconds {
        0 => write!(f, "{seconds}s"),
        n if n % 1_000_000 == 0 => write!(f, "{seconds}.{:03}s", n / 1_000_000),
        n if n % 1_000 == 0 => write!(f, "{seconds}.{:06}s", n / 1_000),
        n => write!(f, "{seconds}.{n:09}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::FlowStatistics;
    use crate::{Cookie, Flow, FlowPriority, TableId};

    #[test]
    fn a_flow_is_written_with_what_it_counted() {
        let mut flow =
            Flow::new(TableId(1), FlowPriority(200)).cookie(Cookie(0x3000000000000)).goto(TableId(2));
        flow.idle_timeout = 300;
        let statistics = FlowStatistics {
            duration: Duration::from_millis(32_600),
            idle: Duration::from_secs(196),
            packets: Some(28),
            bytes: Some(1176),
        };
        assert_eq!(
            FlowEntry { flow, statistics }.to_string(),
            "cookie=0x3000000000000, duration=32.600s, table=1, n_packets=28, n_bytes=1176, idle_timeout=300, \
             idle_age=196, priority=200 actions=goto_table:2"
        );
    }
}

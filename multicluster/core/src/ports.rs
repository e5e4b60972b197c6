//! Finds the ports of a list by what tells them apart, without looking at each.

use std::collections::BTreeMap;

use antrea_types::Protocol;

use crate::looks::look;
use crate::service::Port;

/// The places of ports in a list.
///
/// No Service can have two ports of one name, two of one protocol and number, or another beside one without name: such
/// ports exclude each other.
#[derive(Debug, Default)]
pub(crate) struct PortIndex {
    by_name: BTreeMap<Box<str>, usize>,
    by_number: BTreeMap<(Protocol, u16), usize>,
    length: usize,
}

impl PortIndex {
    /// Of a whole list.
    pub(crate) fn of(ports: &[Port]) -> Self {
        let mut index = Self::default();
        ports.iter().for_each(|port| index.push(port));
        index
    }

    /// Adds the port behind those that are there.
    pub(crate) fn push(&mut self, port: &Port) {
        look();
        self.by_name.entry(port.name.clone()).or_insert(self.length);
        self.by_number.entry((port.protocol, port.port)).or_insert(self.length);
        self.length += 1;
    }

    /// The place of the first port that is the same as this one, or that excludes it.
    pub(crate) fn excluding(&self, port: &Port) -> Option<usize> {
        look();
        if port.name.is_empty() {
            return (self.length > 0).then_some(0);
        }
        let (named, unnamed) = (self.by_name.get(&port.name), self.by_name.get(""));
        let numbered = self.by_number.get(&(port.protocol, port.port));
        [named, unnamed, numbered].into_iter().flatten().min().copied()
    }

    /// Whether the same port is there, in a list in which none excludes another.
    pub(crate) fn has(&self, port: &Port) -> bool {
        look();
        let named = self.by_name.get(&port.name);
        named.is_some() && named == self.by_number.get(&(port.protocol, port.port))
    }
}

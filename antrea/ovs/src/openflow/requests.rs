//! Questions to a switch, and packets for it.

use std::collections::BTreeMap;

use antrea_openflow::message::{
    AggregateStatistics, CtFlush, FlowEntry, FlowFilter, MultipartReply, MultipartRequest, PacketOut, Port,
    PortStatistics, ReplyBody, Resume, TableFeatures,
};
use antrea_openflow::{DecodeError, Flow, Message, Meter, MeterId, TableId, flow_parts, reserved_port};
use antrea_types::OfPort;

use super::channel::Channel;
use super::error::OpenFlowError;

/// No table has a name that begins like this.
const NAME_IN_PASSING: &str = "-";

impl Channel {
    /// Waits until the switch has done everything that was sent before.
    ///
    /// # Errors
    /// [`OpenFlowError::ConnectionLost`].
    pub async fn barrier(&self) -> Result<(), OpenFlowError> {
        self.ask("a barrier", Message::BarrierRequest).await.map(|_| ())
    }

    /// Flows with what they counted.
    ///
    /// # Errors
    /// See [`OpenFlowError`].
    pub async fn dump_flow_entries(&self, filter: FlowFilter) -> Result<Vec<FlowEntry>, OpenFlowError> {
        let parts = self.request("a request for flows", MultipartRequest::Flows(filter)).await?;
        Ok(collect(parts, |body| match body {
            ReplyBody::Flows(flows) => flows,
            _ => Vec::new(),
        }))
    }

    /// Flows.
    ///
    /// # Errors
    /// See [`OpenFlowError`].
    pub async fn dump_flows(&self, filter: FlowFilter) -> Result<Vec<Flow>, OpenFlowError> {
        let mut flows = Vec::new();
        self.each_flow(filter, |flow| flows.push(flow)).await?;
        Ok(flows)
    }

    /// Shows flows one by one, as they come: however many they are, they are not in memory at the same time.
    ///
    /// # Errors
    /// See [`OpenFlowError`].
    pub async fn each_flow(
        &self,
        filter: FlowFilter,
        mut show: impl FnMut(Flow),
    ) -> Result<(), OpenFlowError> {
        self.each_flow_entry(filter, |entry| show(entry.flow)).await
    }

    /// As [`Self::each_flow`], with what they counted.
    ///
    /// # Errors
    /// See [`OpenFlowError`].
    pub async fn each_flow_entry(
        &self,
        filter: FlowFilter,
        mut show: impl FnMut(FlowEntry),
    ) -> Result<(), OpenFlowError> {
        let show_all = |message: &[u8]| {
            for part in flow_parts(message) {
                show(part?.unpack_entry()?);
            }
            Ok(())
        };
        self.read_flows(filter, show_all).await
    }

    /// Hands over messages with flows as they come.
    pub(crate) async fn read_flows(
        &self,
        filter: FlowFilter,
        read: impl FnMut(&[u8]) -> Result<(), DecodeError>,
    ) -> Result<(), OpenFlowError> {
        self.ask_for_parts("a request for flows", vec![MultipartRequest::Flows(filter)], read).await
    }

    /// The sums of what flows counted.
    ///
    /// # Errors
    /// See [`OpenFlowError`].
    pub async fn aggregate(&self, filter: FlowFilter) -> Result<AggregateStatistics, OpenFlowError> {
        let parts =
            self.request("a request for sums over flows", MultipartRequest::Aggregate(filter)).await?;
        let sums = parts.into_iter().find_map(|body| match body {
            ReplyBody::Aggregate(sums) => Some(sums),
            _ => None,
        });
        Ok(sums.unwrap_or_default())
    }

    /// All meters.
    ///
    /// # Errors
    /// See [`OpenFlowError`].
    pub async fn dump_meters(&self) -> Result<Vec<Meter>, OpenFlowError> {
        let parts = self.request("a request for meters", MultipartRequest::Meters(MeterId::ALL)).await?;
        Ok(collect(parts, |body| match body {
            ReplyBody::Meters(meters) => meters,
            _ => Vec::new(),
        }))
    }

    /// All ports.
    ///
    /// # Errors
    /// See [`OpenFlowError`].
    pub async fn port_desc(&self) -> Result<Vec<Port>, OpenFlowError> {
        let parts = self.request("a request for ports", MultipartRequest::Ports(reserved_port::ANY)).await?;
        Ok(collect(parts, |body| match body {
            ReplyBody::Ports(ports) => ports,
            _ => Vec::new(),
        }))
    }

    /// What a port counted, or all with [`reserved_port::ANY`].
    ///
    /// # Errors
    /// See [`OpenFlowError`].
    pub async fn port_statistics(&self, port: OfPort) -> Result<Vec<PortStatistics>, OpenFlowError> {
        let request = MultipartRequest::PortStatistics(port);
        let parts = self.request("a request for statistics of ports", request).await?;
        Ok(collect(parts, |body| match body {
            ReplyBody::PortStatistics(ports) => ports,
            _ => Vec::new(),
        }))
    }

    /// Gives tables their names, which `ovs-ofctl --names` shows. Nothing is sent where they have them.
    ///
    /// # Errors
    /// See [`OpenFlowError`].
    pub async fn rename_tables(&self, names: &[(TableId, String)]) -> Result<(), OpenFlowError> {
        if names.is_empty() {
            return Ok(());
        }
        let parts = self.request("a request for tables", MultipartRequest::TableFeatures(Vec::new())).await?;
        let tables = collect(parts, |body| match body {
            ReplyBody::TableFeatures(tables) => tables,
            _ => Vec::new(),
        });
        let [passing, lasting] = renamed(tables, names);
        for tables in [passing, lasting] {
            if !tables.is_empty() {
                self.request("names of tables", MultipartRequest::TableFeatures(tables)).await?;
            }
        }
        Ok(())
    }

    /// Sends a packet on its way, and waits until the switch has taken it.
    ///
    /// # Errors
    /// See [`OpenFlowError`].
    pub async fn packet_out(&self, packet: PacketOut) -> Result<(), OpenFlowError> {
        self.ask_with_barrier("a packet", Message::PacketOut(packet)).await
    }

    /// Lets a packet that was held for the controller go on, and waits until the switch has taken it.
    ///
    /// # Errors
    /// See [`OpenFlowError`].
    pub async fn resume(&self, packet: Resume) -> Result<(), OpenFlowError> {
        self.ask_with_barrier("a packet that was held", Message::Resume(Box::new(packet))).await
    }

    /// Forgets the connections of a zone, and waits until the switch has.
    ///
    /// # Errors
    /// See [`OpenFlowError`].
    pub async fn flush_conntrack_zone(&self, zone: u16) -> Result<(), OpenFlowError> {
        self.ask_with_barrier("the flush of a conntrack zone", Message::CtFlushZone(zone)).await
    }

    /// Forgets connections, and waits until the switch has.
    ///
    /// # Errors
    /// See [`OpenFlowError`].
    pub async fn flush_connections(&self, connections: CtFlush) -> Result<(), OpenFlowError> {
        self.ask_with_barrier("the flush of connections", Message::CtFlush(Box::new(connections))).await
    }

    /// For messages that the switch answers only when it refuses them.
    async fn ask_with_barrier(&self, what: &str, message: Message) -> Result<(), OpenFlowError> {
        self.ask_all(&[message, Message::BarrierRequest], |_| what.to_owned()).await.map(|_| ())
    }

    async fn request(&self, what: &str, request: MultipartRequest) -> Result<Vec<ReplyBody>, OpenFlowError> {
        let parts = self.ask(what, Message::MultipartRequest(request)).await?;
        let bodies = parts.into_iter().filter_map(|part| match part {
            Message::MultipartReply(MultipartReply { body, .. }) => Some(body),
            _ => None,
        });
        Ok(bodies.collect())
    }
}

/// The tables whose names differ from those that are wanted, with a name in passing where it takes one, and with the
/// name that is wanted. OVS takes a new name for the old one when it is the beginning of that (`oftable_set_name`).
fn renamed(tables: Vec<TableFeatures>, names: &[(TableId, String)]) -> [Vec<TableFeatures>; 2] {
    let wanted: BTreeMap<_, _> = names.iter().map(|(table, name)| (*table, name)).collect();
    let (mut passing, mut lasting) = (Vec::new(), Vec::new());
    for table in tables {
        let Some(name) = wanted.get(&table.table).filter(|name| **name != &table.name) else { continue };
        // Without properties a table keeps those it has (OpenFlow 1.5 §7.3.5.18.1), and the request stays small.
        let with =
            |name: &str| TableFeatures { name: name.to_owned(), properties: Vec::new(), ..table.clone() };
        if table.name.starts_with(name.as_str()) {
            passing.push(with(NAME_IN_PASSING));
        }
        lasting.push(with(name));
    }
    [passing, lasting]
}

fn collect<T>(parts: Vec<ReplyBody>, items: impl Fn(ReplyBody) -> Vec<T>) -> Vec<T> {
    parts.into_iter().flat_map(items).collect()
}

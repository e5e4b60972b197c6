//! The bridge of a Node, asked by OpenFlow: an answer comes within a fraction of the time that starting a program takes.

use std::io::{Read as _, Write as _};
use std::net::Ipv4Addr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use antrea_e2e::lab::Lab;
use antrea_e2e::names::NodeId;
use antrea_e2e::{node, wait};
use antrea_openflow::message::{FlowFilter, HEADER_LENGTH, Hello, More, MultipartRequest, ReplyBody};
use antrea_openflow::{
    Action, Cookie, CookieMask, Field, FlowMod, Group, GroupId, GroupMod, Match, Message, TableId, Xid,
    frame_length,
};
use anyhow::{Context, Result, bail};

/// A switch that is busy with a large bundle answers after it.
const PATIENCE: Duration = Duration::from_secs(60);

/// `OFPMP_TABLE_STATS`: how many flows each table has, which costs the switch nothing to tell.
const TABLES: u16 = 3;
/// `struct ofp_table_stats`: table, padding, flows, and two counters of packets.
const TABLE_ENTRY: usize = 24;

/// Where the run of the agent is in a cookie.
const ROUND: CookieMask = CookieMask(0xffff << 48);

/// Which run of the agent a flow was installed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Round(u16);

/// A connection to a bridge.
pub(super) struct Switch {
    stream: UnixStream,
    last: u32,
}

impl Switch {
    /// Connects to br-int of a Node.
    pub(super) fn of(lab: &Lab, node: NodeId) -> Result<Self> {
        let init = node::init_process(&lab.plan().name, node)?;
        let files = PathBuf::from(format!("/proc/{}/root", init.pid));
        let socket = files.join("run/antrea/openvswitch/br-int.mgmt");
        Self::at(&socket).with_context(|| format!("br-int of {node} does not accept connections"))
    }

    fn at(socket: &Path) -> Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut switch = Self { stream, last: 0 };
        switch.send(&Message::Hello(Hello::default()))?;
        Ok(switch)
    }

    /// How many flows there are.
    pub(super) fn flows(&mut self) -> Result<u64> {
        let request = MultipartRequest::Unknown { kind: TABLES, body: Vec::new() };
        let mut flows = 0;
        for part in self.ask(request)? {
            let ReplyBody::Unknown { kind: TABLES, body } = part else {
                bail!("no numbers of tables: {part:?}")
            };
            flows += active(&body);
        }
        Ok(flows)
    }

    /// How many flows a run of the agent has installed.
    pub(super) fn flows_of(&mut self, round: Round) -> Result<u64> {
        let filter = FlowFilter::cookie(Cookie(u64::from(round.0) << 48), ROUND);
        match self.ask(MultipartRequest::Aggregate(filter))?.as_slice() {
            [ReplyBody::Aggregate(sums)] => Ok(sums.flows.into()),
            other => bail!("no sum over flows: {other:?}"),
        }
    }

    /// The last run of the agent that installed flows of the first table.
    pub(super) fn round(&mut self) -> Result<Round> {
        let parts = self.ask(MultipartRequest::Flows(FlowFilter::table(TableId(0))))?;
        let flows = parts
            .iter()
            .flat_map(|part| if let ReplyBody::Flows(flows) = part { flows.as_slice() } else { &[] });
        let rounds = flows.filter_map(|entry| u16::try_from(entry.flow.cookie.0 >> 48).ok());
        rounds.max().map(Round).context("br-int has no flows")
    }

    /// How many groups there are.
    pub(super) fn groups(&mut self) -> Result<usize> {
        Ok(self.groups_of(GroupId::ALL)?.len())
    }

    /// The group that has a bucket for an endpoint.
    pub(super) fn group_of(&mut self, endpoint: Ipv4Addr) -> Result<Option<GroupId>> {
        let groups = self.groups_of(GroupId::ALL)?;
        Ok(groups.iter().find(|group| leads_to(group, endpoint)).map(|group| group.id))
    }

    /// Whether a group has a bucket for an endpoint.
    pub(super) fn has_bucket(&mut self, group: GroupId, endpoint: Ipv4Addr) -> Result<bool> {
        Ok(self.groups_of(group)?.iter().any(|group| leads_to(group, endpoint)))
    }

    /// Removes all flows and groups.
    pub(super) fn clear(&mut self) -> Result<()> {
        self.send(&Message::FlowMod(FlowMod::delete(TableId::ALL, Match::new())))?;
        self.send(&Message::GroupMod(GroupMod::Delete(GroupId::ALL)))?;
        let barrier = self.send(&Message::BarrierRequest)?;
        while !matches!(self.receive()?, (xid, Message::BarrierReply) if xid == barrier) {}
        Ok(())
    }

    fn groups_of(&mut self, id: GroupId) -> Result<Vec<Group>> {
        let parts = self.ask(MultipartRequest::Groups(id))?;
        let groups = parts
            .into_iter()
            .map(|part| if let ReplyBody::Groups(groups) = part { groups } else { Vec::new() });
        Ok(groups.flatten().collect())
    }

    /// All parts of the answer to a request.
    fn ask(&mut self, request: MultipartRequest) -> Result<Vec<ReplyBody>> {
        let asked = self.send(&Message::MultipartRequest(request))?;
        let mut parts = Vec::new();
        loop {
            match self.receive()? {
                (xid, Message::MultipartReply(reply)) if xid == asked => {
                    parts.push(reply.body);
                    if reply.more == More::Last {
                        return Ok(parts);
                    }
                }
                (xid, Message::Error(error)) if xid == asked => bail!("the switch refused: {error:?}"),
                // Packets and ports that changed are not for us.
                _ => {}
            }
        }
    }

    fn send(&mut self, message: &Message) -> Result<Xid> {
        self.last += 1;
        let xid = Xid(self.last);
        self.write(xid, message)?;
        Ok(xid)
    }

    fn write(&mut self, xid: Xid, message: &Message) -> Result<()> {
        let mut bytes = Vec::new();
        message.encode(xid, &mut bytes)?;
        self.stream.write_all(&bytes).context("cannot write to the switch")
    }

    /// The next message; what keeps the connection alive is answered.
    fn receive(&mut self) -> Result<(Xid, Message)> {
        loop {
            match Message::decode(&self.read()?)? {
                (xid, Message::EchoRequest(bytes)) => self.write(xid, &Message::EchoReply(bytes))?,
                message => return Ok(message),
            }
        }
    }

    fn read(&mut self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; HEADER_LENGTH];
        self.stream.read_exact(&mut bytes).context("the switch does not answer")?;
        let length = frame_length(&bytes)?.unwrap_or(HEADER_LENGTH);
        bytes.resize(length, 0);
        let body = bytes.get_mut(HEADER_LENGTH..).unwrap_or_default();
        self.stream.read_exact(body).context("the switch does not answer")?;
        Ok(bytes)
    }
}

/// Waits until the number of flows has been the same for a while, and returns it.
pub(super) fn settled(switch: &mut Switch, limit: Duration) -> Result<u64> {
    /// Longer than anything that gathers changes before it installs them.
    const QUIET: Duration = Duration::from_secs(5);
    let mut last = (switch.flows()?, Instant::now());
    wait::eventually(limit, "flows to stay as they are", || {
        let flows = switch.flows()?;
        if flows != last.0 {
            last = (flows, Instant::now());
        }
        Ok((last.1.elapsed() >= QUIET).then_some(flows))
    })
}

/// The flows of all tables.
fn active(entries: &[u8]) -> u64 {
    entries
        .chunks_exact(TABLE_ENTRY)
        .filter_map(|entry| entry.get(4..8)?.try_into().ok())
        .map(|bytes| u64::from(u32::from_be_bytes(bytes)))
        .sum()
}

/// A bucket chooses its endpoint by writing the address to register 3.
fn leads_to(group: &Group, endpoint: Ipv4Addr) -> bool {
    let address = u128::from(endpoint.to_bits());
    let loads = |action: &Action| matches!(action, Action::SetField(set) if set.field == Field::Reg3 && set.value == address);
    group.buckets.iter().any(|bucket| bucket.actions.iter().any(loads))
}

#[cfg(test)]
mod tests {
    use antrea_openflow::{Bucket, BucketId, GroupKind, SetField};

    use super::*;

    #[test]
    fn a_group_leads_to_the_addresses_in_its_buckets() {
        let bucket = |id, value| {
            let set = SetField { field: Field::Reg3, value, mask: 0xffff_ffff };
            Bucket::new(BucketId(id), vec![Action::SetField(set)])
        };
        let buckets = vec![bucket(0, 0x0a82_0001), bucket(1, 0x0a82_0002)];
        let group = Group { id: GroupId(7), kind: GroupKind::Select, buckets };
        assert!(leads_to(&group, Ipv4Addr::new(10, 130, 0, 2)));
        assert!(!leads_to(&group, Ipv4Addr::new(10, 130, 0, 3)));
    }

    #[test]
    fn flows_of_all_tables_add_up() {
        let entry = |table: u8, flows: u32| {
            let mut entry = vec![table, 0, 0, 0];
            entry.extend(flows.to_be_bytes());
            entry.extend([0xff; 16]);
            entry
        };
        assert_eq!(active(&[entry(0, 3), entry(1, 70_000), entry(254, 0)].concat()), 70_003);
        assert_eq!(active(&[]), 0);
    }
}

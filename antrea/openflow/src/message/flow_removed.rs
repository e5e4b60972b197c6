//! News of flows that went (OpenFlow 1.5 §7.4.2).

use super::FlowStatistics;
use super::flow_statistics::{oxs_from, put_oxs};
use crate::codec::error::DecodeError;
use crate::codec::oxm::{match_from, put_match};
use crate::codec::reader::Reader;
use crate::codec::writer::{put_u8, put_u16, put_u64};
use crate::{Cookie, FlowPriority, Match, TableId};

/// Why a flow went (`OFPRR_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowRemovedReason {
    /// No packets for its idle timeout.
    IdleTimeout,
    /// Its hard timeout was over.
    HardTimeout,
    /// Somebody deleted it.
    Delete,
    /// Its group went.
    GroupDelete,
    /// Its meter went.
    MeterDelete,
    /// It had to make room.
    Eviction,
    /// Another number.
    Other(u8),
}

impl FlowRemovedReason {
    const fn code(self) -> u8 {
        match self {
            Self::IdleTimeout => 0,
            Self::HardTimeout => 1,
            Self::Delete => 2,
            Self::GroupDelete => 3,
            Self::MeterDelete => 4,
            Self::Eviction => 5,
            Self::Other(code) => code,
        }
    }

    const fn from_code(code: u8) -> Self {
        match code {
            0 => Self::IdleTimeout,
            1 => Self::HardTimeout,
            2 => Self::Delete,
            3 => Self::GroupDelete,
            4 => Self::MeterDelete,
            5 => Self::Eviction,
            code => Self::Other(code),
        }
    }
}

/// A flow that went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRemoved {
    /// Its table.
    pub table: TableId,
    /// Its priority.
    pub priority: FlowPriority,
    /// Its cookie.
    pub cookie: Cookie,
    /// Its idle timeout.
    pub idle_timeout: u16,
    /// Its hard timeout.
    pub hard_timeout: u16,
    /// Why it went.
    pub reason: FlowRemovedReason,
    /// What it matched.
    pub matching: Match,
    /// What it counted.
    pub statistics: FlowStatistics,
}

impl FlowRemoved {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put_u8(out, self.table.0);
        put_u8(out, self.reason.code());
        put_u16(out, self.priority.0);
        put_u16(out, self.idle_timeout);
        put_u16(out, self.hard_timeout);
        put_u64(out, self.cookie.0);
        put_match(out, &self.matching);
        put_oxs(out, &self.statistics, None);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let table = TableId(reader.u8()?);
        let reason = FlowRemovedReason::from_code(reader.u8()?);
        let priority = FlowPriority(reader.u16()?);
        let (idle_timeout, hard_timeout) = (reader.u16()?, reader.u16()?);
        let cookie = Cookie(reader.u64()?);
        let matching = match_from(reader)?;
        let statistics = oxs_from(reader)?.flow;
        Ok(Self { table, priority, cookie, idle_timeout, hard_timeout, reason, matching, statistics })
    }
}

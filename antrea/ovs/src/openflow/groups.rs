//! Which groups there are, and what they do.
//!
//! Open vSwitch 3.1 describes a group of more than 65,535 bytes in a message whose length is what that leaves of it: what
//! follows cannot be told apart any more. Such a group must not be asked for. What it has counted says how many buckets a
//! group has.

use std::collections::BTreeSet;

use antrea_openflow::message::MultipartRequest;
use antrea_openflow::{DecodeError, Group, GroupId, group_parts, group_sizes};

use super::channel::Channel;
use super::error::OpenFlowError;

/// The buckets of a group that is asked for: each may take 128 bytes, more than we ever write.
const READABLE_BUCKETS: usize = 500;

/// Groups that are asked for at a time where not all can be.
const AT_A_TIME: usize = 500;

/// A group, and how large it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupSize {
    /// Its number.
    pub id: GroupId,
    /// How many buckets it has.
    pub buckets: usize,
}

impl Channel {
    /// The numbers of all groups, in their order.
    ///
    /// # Errors
    /// See [`OpenFlowError`].
    pub async fn group_ids(&self) -> Result<BTreeSet<GroupId>, OpenFlowError> {
        Ok(self.group_sizes().await?.into_iter().map(|group| group.id).collect())
    }

    /// All groups but those of more than 500 buckets.
    ///
    /// # Errors
    /// See [`OpenFlowError`].
    pub async fn dump_groups(&self) -> Result<Vec<Group>, OpenFlowError> {
        let mut groups = Vec::new();
        let mut buffer = Vec::new();
        let unpack = |message: &[u8]| {
            for part in group_parts(message) {
                groups.push(part?.packed(&mut buffer)?.unpack()?);
            }
            Ok(())
        };
        self.read_groups(unpack).await?;
        Ok(groups)
    }

    /// Hands over messages with groups as they come, and returns those that are too large for that.
    pub(crate) async fn read_groups(
        &self,
        read: impl FnMut(&[u8]) -> Result<(), DecodeError>,
    ) -> Result<Vec<GroupSize>, OpenFlowError> {
        let what = "a request for groups";
        let (large, readable): (Vec<_>, Vec<_>) =
            self.group_sizes().await?.into_iter().partition(|group| group.buckets > READABLE_BUCKETS);
        if large.is_empty() {
            self.ask_for_parts(what, vec![MultipartRequest::Groups(GroupId::ALL)], read).await?;
            return Ok(large);
        }
        let mut read = read;
        for groups in readable.chunks(AT_A_TIME) {
            let requests = groups.iter().map(|group| MultipartRequest::Groups(group.id)).collect();
            self.ask_for_parts(what, requests, &mut read).await?;
        }
        Ok(large)
    }

    /// All groups with the numbers of their buckets.
    ///
    /// # Errors
    /// See [`OpenFlowError`].
    pub async fn group_sizes(&self) -> Result<Vec<GroupSize>, OpenFlowError> {
        let mut sizes = Vec::new();
        let note = |message: &[u8]| {
            for group in group_sizes(message) {
                let (id, buckets) = group?;
                sizes.push(GroupSize { id, buckets });
            }
            Ok(())
        };
        let requests = vec![MultipartRequest::GroupStatistics(GroupId::ALL)];
        self.ask_for_parts("a request for statistics of groups", requests, note).await?;
        Ok(sizes)
    }
}

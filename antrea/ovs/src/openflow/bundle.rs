//! Bundles: modifications that are made all together or not at all (OpenFlow 1.5 §7.3.9).

use antrea_openflow::message::{BundleAdd, BundleControl, BundleFlags, BundleStep};
use antrea_openflow::{BundleId, Message, MeterMod};

use super::channel::Channel;
use super::error::OpenFlowError;
use crate::modification::Modification;

/// How many members a bundle may have.
pub const BUNDLE_LIMIT: usize = 10_000;

/// No packet sees a part of a bundle, and its members are carried out in their order.
const FLAGS: BundleFlags = BundleFlags::ATOMIC.and(BundleFlags::ORDERED);

impl Channel {
    /// Makes all modifications, or none. Nothing is sent for an empty bundle.
    ///
    /// # Errors
    /// [`OpenFlowError::Refused`] names the first member that the switch refuses.
    pub async fn bundle(&self, members: &[Modification]) -> Result<(), OpenFlowError> {
        if members.is_empty() {
            return Ok(());
        }
        if members.len() > BUNDLE_LIMIT {
            return Err(OpenFlowError::BundleTooLarge { members: members.len() });
        }
        let id = BundleId(self.next_bundle());
        let control = |step| Message::BundleControl(BundleControl { id, step, flags: FLAGS });
        let mut messages = Vec::with_capacity(members.len() + 2);
        messages.push(control(BundleStep::OpenRequest));
        messages.extend(members.iter().map(|member| {
            Message::BundleAdd(BundleAdd { id, flags: FLAGS, message: Box::new(member.to_message()) })
        }));
        messages.push(control(BundleStep::CommitRequest));
        // Opening and committing are messages, too.
        let member = |position: usize| position.checked_sub(1).and_then(|position| members.get(position));
        let describe = |position| member(position).map_or_else(|| "a bundle".to_owned(), ToString::to_string);
        match self.ask_all(&messages, describe).await {
            Ok(_) => Ok(()),
            Err(OpenFlowError::Refused { position, what, source }) => {
                let position =
                    position.filter(|position| member(*position).is_some()).map(|position| position - 1);
                Err(OpenFlowError::Refused { position, what, source })
            }
            Err(error) => Err(error),
        }
    }

    /// Makes modifications of meters, which cannot be members of bundles, and waits until they are made.
    ///
    /// # Errors
    /// [`OpenFlowError::Refused`] names the first one that the switch refuses; the others are made.
    pub async fn modify_meters(&self, modifications: &[MeterMod]) -> Result<(), OpenFlowError> {
        if modifications.is_empty() {
            return Ok(());
        }
        let mut messages: Vec<_> = modifications.iter().cloned().map(Message::MeterMod).collect();
        messages.push(Message::BarrierRequest);
        let describe = |position| modifications.get(position).map_or_else(String::new, describe_meter);
        self.ask_all(&messages, describe).await.map(|_| ())
    }
}

fn describe_meter(modification: &MeterMod) -> String {
    match modification {
        MeterMod::Add(meter) | MeterMod::Modify(meter) => format!("meter {}", meter.id),
        MeterMod::Delete(id) => format!("the deletion of meter {id}"),
    }
}

//! Bundles: modifications that are made all together or not at all (OpenFlow 1.5 §7.3.9).

use std::time::Instant;

use antrea_openflow::message::{BundleControl, BundleFlags, BundleStep};
use antrea_openflow::{BundleId, Message, MeterMod, Xid};

use super::channel::Channel;
use super::error::OpenFlowError;
use crate::modification::Modification;

/// How many messages a bundle may have.
pub const BUNDLE_LIMIT: usize = 10_000;

/// No packet sees a part of a bundle, and its members are carried out in their order.
const FLAGS: BundleFlags = BundleFlags::ATOMIC.and(BundleFlags::ORDERED);

impl Channel {
    /// Makes all modifications, or none. Nothing is sent for an empty bundle.
    ///
    /// # Errors
    /// [`OpenFlowError::Refused`] names the first member that the switch refuses.
    pub async fn bundle(&self, members: &[Modification]) -> Result<(), OpenFlowError> {
        let messages: usize = members.iter().map(Modification::messages).sum();
        if messages == 0 {
            return Ok(());
        }
        if messages > BUNDLE_LIMIT {
            return Err(OpenFlowError::BundleTooLarge { members: messages });
        }
        let begun = Instant::now();
        let outcome = self.make(members, messages).await;
        self.operations().note(members, &outcome, begun.elapsed());
        outcome
    }

    async fn make(&self, members: &[Modification], messages: usize) -> Result<(), OpenFlowError> {
        let id = BundleId(self.next_bundle());
        // Opening and closing are messages, too; and then committing.
        let count = u32::try_from(messages + 2).unwrap_or(u32::MAX - 1);
        let first = self.reserve(count + 1);
        let bytes = filling(id, first, members)?;
        let describe = |position| {
            let member = member_at(members, position).and_then(|position| members.get(position));
            member.map_or_else(|| "a bundle".to_owned(), ToString::to_string)
        };
        let outcome = match self.ask_encoded(first, first + (count - 1), bytes, describe).await {
            // What is wrong with members in their context shows now.
            Ok(_) => self.ask_from(first, count, &[control(id, BundleStep::CommitRequest)], describe).await,
            Err(error) => {
                self.discard(id, &error).await;
                Err(error)
            }
        };
        outcome.map(|_| ()).map_err(|error| error.at(|position| member_at(members, position)))
    }

    /// Has a bundle forgotten of which the switch has refused a member when it was added: OVS would commit the others.
    async fn discard(&self, id: BundleId, error: &OpenFlowError) {
        if let OpenFlowError::Refused { .. } = error {
            // If this fails, then OVS forgets the bundle by itself, as it does all that are idle.
            let _ = self.ask("the end of a bundle", control(id, BundleStep::DiscardRequest)).await;
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

const fn control(id: BundleId, step: BundleStep) -> Message {
    Message::BundleControl(BundleControl { id, step, flags: FLAGS })
}

/// What opens a bundle, fills it, and closes it; an error names the member.
fn filling(id: BundleId, first: u32, members: &[Modification]) -> Result<Vec<u8>, OpenFlowError> {
    let too_long = |position: Option<usize>, source| OpenFlowError::TooLong {
        position,
        what: position
            .and_then(|position| members.get(position))
            .map_or_else(String::new, ToString::to_string),
        source,
    };
    let mut bytes = Vec::new();
    let put = |step, xid, bytes: &mut Vec<u8>| {
        control(id, step).encode(xid, bytes).map_err(|error| too_long(None, error))
    };
    put(BundleStep::OpenRequest, Xid(first), &mut bytes)?;
    let mut xid = Xid(first + 1);
    for (position, member) in members.iter().enumerate() {
        xid = member.put((id, FLAGS), xid, &mut bytes).map_err(|error| too_long(Some(position), error))?;
    }
    put(BundleStep::CloseRequest, xid, &mut bytes)?;
    Ok(bytes)
}

/// Which member a message of a bundle belongs to; none for the first, which opens it, and what follows the members.
fn member_at(members: &[Modification], message: usize) -> Option<usize> {
    let message = message.checked_sub(1)?;
    let mut end = 0;
    members.iter().position(|member| {
        end += member.messages();
        message < end
    })
}

fn describe_meter(modification: &MeterMod) -> String {
    match modification {
        MeterMod::Add(meter) | MeterMod::Modify(meter) => format!("meter {}", meter.id),
        MeterMod::Delete(id) => format!("the deletion of meter {id}"),
    }
}

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
        let messages = filling(id, members);
        // Opening, closing and committing are messages, too.
        let member = |position: usize| position.checked_sub(1).filter(|position| *position < members.len());
        let describe = |position| {
            let member = member(position).and_then(|position| members.get(position));
            member.map_or_else(|| "a bundle".to_owned(), ToString::to_string)
        };
        let count = u32::try_from(messages.len()).unwrap_or(u32::MAX - 1);
        let first = self.reserve(count + 1);
        let outcome = match self.ask_from(first, 0, &messages, describe).await {
            // What is wrong with members in their context shows now.
            Ok(_) => self.ask_from(first, count, &[control(id, BundleStep::CommitRequest)], describe).await,
            Err(error) => {
                self.discard(id, &error).await;
                Err(error)
            }
        };
        outcome.map(|_| ()).map_err(|error| error.at(member))
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

/// What opens a bundle, fills it, and closes it.
fn filling(id: BundleId, members: &[Modification]) -> Vec<Message> {
    let mut messages = Vec::with_capacity(members.len() + 2);
    messages.push(control(id, BundleStep::OpenRequest));
    messages.extend(members.iter().map(|member| {
        Message::BundleAdd(BundleAdd { id, flags: FLAGS, message: Box::new(member.to_message()) })
    }));
    messages.push(control(id, BundleStep::CloseRequest));
    messages
}

fn describe_meter(modification: &MeterMod) -> String {
    match modification {
        MeterMod::Add(meter) | MeterMod::Modify(meter) => format!("meter {}", meter.id),
        MeterMod::Delete(id) => format!("the deletion of meter {id}"),
    }
}

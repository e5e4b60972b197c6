//! What is heard of policies in a cluster without antrea-controller: that there are none, so that no Pod waits for any or is
//! isolated, and what an earlier agent has stored or noted is done with.

use antrea_agent_policy::PolicyEvent;
use antrea_shared_api::controlplane::v1beta2::{AddressGroup, AppliedToGroup, NetworkPolicy};
use antrea_shared_api::watch::Event;

use crate::antrea_controller::Heard;

/// Each watch begins, and says that what it has sent is all.
pub(super) fn says() -> impl Iterator<Item = Heard> {
    let all = [
        PolicyEvent::NetworkPolicy(Event::Bookmark(NetworkPolicy::default())),
        PolicyEvent::AddressGroup(Event::Bookmark(AddressGroup::default())),
        PolicyEvent::AppliedToGroup(Event::Bookmark(AppliedToGroup::default())),
    ];
    all.into_iter().flat_map(|bookmark| [Heard::Connected(bookmark.watch()), Heard::Event(bookmark)])
}

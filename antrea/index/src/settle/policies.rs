//! Tells of policies.

use antrea_policy::{Content, PolicyUpdate, Span, SpanChange, Update};

use super::Round;
use crate::Index;
use crate::cluster::policies::{Journal, State};
use crate::intern::pool::{GroupId, PolicyId};

impl Index {
    pub(super) fn tell_policies(
        &self,
        journal: &Journal,
        round: &mut Round,
        publish: &mut dyn FnMut(Update),
    ) {
        for (id, before) in journal {
            self.policy_updates(*id, before.as_deref(), round)
                .into_iter()
                .flatten()
                .for_each(|update| publish(Update::Policy(update)));
        }
        round.respanned.sort_unstable();
        round.respanned.dedup();
        for id in &round.respanned {
            let record = self.policies.get(*id);
            let Some((policy, links)) = record.current().filter(|_| !record.is_journaled()) else { continue };
            let span = SpanChange {
                before: self.span_before(links.applied_to, round),
                after: self.span_of(links.applied_to),
            };
            let (policy, content) = (policy.clone(), Content::Same);
            publish(Update::Policy(PolicyUpdate::Modified { policy, content, span }));
        }
    }

    /// What became of a policy. One of the same name, but another UID, is another.
    fn policy_updates(
        &self,
        id: PolicyId,
        before: Option<&State>,
        round: &Round,
    ) -> [Option<PolicyUpdate>; 2] {
        let after = self.policies.get(id).current();
        let removed = before.map(|before| {
            let span = self.span_before(before.links.applied_to, round);
            (before.computed.clone(), span)
        });
        let added = after.map(|(policy, links)| (policy.clone(), self.span_of(links.applied_to)));
        match (removed, added) {
            (Some((before, old)), Some((policy, new))) if before.name() == policy.name() => {
                let content = if before == policy { Content::Same } else { Content::Changed };
                let span = SpanChange { before: old, after: new };
                let is_news = content == Content::Changed || !span.is_none();
                [is_news.then_some(PolicyUpdate::Modified { policy, content, span }), None]
            }
            (removed, added) => [
                removed.map(|(policy, span)| PolicyUpdate::Removed { policy, span }),
                added.map(|(policy, span)| PolicyUpdate::Added { policy, span }),
            ],
        }
    }

    fn span_before(&self, applied_to: GroupId, round: &Round) -> Span {
        let before = round.spans_before.get(&applied_to);
        before.cloned().unwrap_or_else(|| self.span_of(applied_to))
    }

    /// The Nodes of an AppliedToGroup, which are those that need its policies.
    pub(crate) fn span_of(&self, applied_to: GroupId) -> Span {
        let published = self.groups.get(applied_to).applied.published.as_ref();
        published.map(|counted| counted.span.clone()).unwrap_or_default()
    }
}

//! What an API server does not keep of what it is sent: it drops fields that its CustomResourceDefinition lacks, such as
//! ours where upstream's or an older one is installed. Asking for them again and again would not help. A watch that goes on
//! where it ended does not tell that the definition has changed, so the own API server is asked once a minute.

use std::collections::BTreeMap;
use std::mem::discriminant;
use std::time::Duration;

use serde_json::Value;
use tracing::info;

use crate::action::Action;
use crate::kind::{Kind, Side};
use crate::objects::Key;

/// How long our own API server is not asked for what it has dropped, when an object changes meanwhile. Leaders, which have far
/// more objects, are asked when these are listed again.
const PAUSE: Duration = Duration::from_secs(60);

/// For each object what is missing still after the last patch of it and of its status, and since when that is known.
#[derive(Debug, Default)]
pub(super) struct Answers(BTreeMap<Key, (Vec<Action>, Duration)>);

impl Answers {
    /// Notes what became of the object that `asked` was sent for.
    pub(super) fn note(&mut self, asked: &Action, answer: &Value, now: Duration) {
        let key = asked.key();
        let missing = asked.missing_from(answer);
        if missing.is_some() && self.of_kind(key.kind).next().is_none() {
            info!(%key, "The API server drops fields of objects of this kind: it knows an older version");
        }
        let (all, since) = self.0.entry(key.clone()).or_default();
        *since = now;
        all.retain(|other| discriminant(other) != discriminant(asked));
        all.extend(missing);
        if all.is_empty() {
            self.0.remove(key);
        }
    }

    /// Whether just this is known not to be kept.
    pub(super) fn is_in_vain(&self, action: &Action, now: Duration) -> bool {
        let is_missing = |all: &Vec<Action>| all.iter().any(|missing| missing.is_like(action));
        let known = self.0.get(action.key()).is_some_and(|(all, _)| is_missing(all));
        known && !self.is_old(action.key(), now)
    }

    /// Whether it is time to find out if more of an object is kept now.
    pub(super) fn is_old(&self, key: &Key, now: Duration) -> bool {
        let is_old = |since: Duration| key.kind.side() == Side::Local && now >= since + PAUSE;
        self.0.get(key).is_some_and(|(_, since)| is_old(*since))
    }

    /// The object is gone.
    pub(super) fn forget(&mut self, key: &Key) {
        self.0.remove(key);
    }

    /// The API server may keep more of a kind now. Names the objects that something is missing from.
    pub(super) fn forget_kind(&mut self, kind: Kind) -> Vec<Key> {
        let keys: Vec<Key> = self.of_kind(kind).cloned().collect();
        keys.iter().for_each(|key| self.forget(key));
        keys
    }

    fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Key> {
        let from = self.0.range(Key::new(kind, "", "")..);
        from.map(|(key, _)| key).take_while(move |key| key.kind == kind)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::action::{ensure, ensure_status};

    const NOW: Duration = Duration::from_secs(100);

    fn key() -> Key {
        Key::new(Kind::ResourceExport, "area", "web")
    }

    fn wanted(port: u16) -> Value {
        json!({ "metadata": { "name": "web", "namespace": "area" }, "spec": { "port": port, "origin": "here" } })
    }

    fn stored(uid: &str, port: u16) -> Value {
        json!({ "metadata": { "name": "web", "namespace": "area", "uid": uid }, "spec": { "port": port } })
    }

    fn patch(stored: &Value, port: u16) -> Action {
        ensure(Kind::ResourceExport, Some(stored), &wanted(port)).unwrap()
    }

    /// The API server has kept the port, and no origin.
    fn answered() -> Answers {
        let mut answers = Answers::default();
        answers.note(&patch(&stored("one", 79), 80), &stored("one", 80), NOW);
        answers
    }

    #[test]
    fn what_is_not_kept_is_not_asked_for_again() {
        let mut answers = answered();
        assert!(answers.is_in_vain(&patch(&stored("one", 80), 80), NOW));
        answers.note(&patch(&stored("one", 80), 80), &stored("one", 80), NOW);
        assert!(
            answers.is_in_vain(&patch(&stored("one", 80), 80), NOW),
            "asked for alone it is not kept either"
        );
    }

    #[test]
    fn what_differs_in_anything_else_is_repaired() {
        let answers = answered();
        assert!(!answers.is_in_vain(&patch(&stored("one", 81), 80), NOW), "somebody has edited it");
        assert!(!answers.is_in_vain(&patch(&stored("one", 80), 82), NOW), "something else is wanted");
        assert!(
            !answers.is_in_vain(&patch(&stored("two", 80), 80), NOW),
            "it is another object of that name"
        );
    }

    #[test]
    fn what_is_kept_is_asked_for_again_when_it_is_gone() {
        let mut answers = answered();
        answers.note(&patch(&stored("one", 80), 80), &wanted(80), NOW);
        assert!(!answers.is_in_vain(&patch(&stored("one", 80), 80), NOW));
    }

    #[test]
    fn a_status_that_is_kept_says_nothing_of_the_rest() {
        let mut answers = answered();
        let (object, status) = (stored("one", 80), json!({ "phase": "new" }));
        let mut with_status = object.clone();
        with_status["status"] = status.clone();
        answers.note(&ensure_status(&key(), &object, &status).unwrap(), &with_status, NOW);
        assert!(answers.is_in_vain(&patch(&object, 80), NOW));
    }

    #[test]
    fn the_version_that_a_status_was_written_over_is_not_missing() {
        let key = Key::new(Kind::ServiceExport, "shop", "web");
        let at_version = |version: &str| json!({ "metadata": { "uid": "one", "resourceVersion": version } });
        let status = json!({ "conditions": [{ "type": "Ready", "reason": "Exported" }] });
        let asked = ensure_status(&key, &at_version("7"), &status).unwrap();
        let mut kept = at_version("8");
        kept["status"] = status.clone();
        let mut answers = Answers::default();
        answers.note(&asked, &kept, NOW);
        assert!(answers.0.is_empty());
        answers.note(&asked, &at_version("8"), NOW);
        assert!(answers.is_in_vain(&ensure_status(&key, &at_version("8"), &status).unwrap(), NOW));
    }

    /// Its definition may be another one, and the watch may have gone on where it ended.
    #[test]
    fn our_own_api_server_is_asked_again_after_a_minute_and_no_leader() {
        let asked_again = |kind: Kind| {
            let found = json!({ "metadata": { "uid": "one" } });
            let wanted = json!({ "metadata": { "name": "a", "namespace": "b" }, "exported": "c" });
            let asked = ensure(kind, Some(&found), &wanted).unwrap();
            let mut answers = Answers::default();
            answers.note(&asked, &found, NOW);
            let after = |seconds: u64| {
                let now = NOW + Duration::from_secs(seconds);
                (answers.is_old(asked.key(), now), answers.is_in_vain(&asked, now))
            };
            (after(59), after(60))
        };
        assert_eq!(asked_again(Kind::Gateway), ((false, true), (true, false)));
        assert_eq!(asked_again(Kind::ResourceExport), ((false, true), (false, true)));
    }

    #[test]
    fn an_object_of_somebody_else_in_the_place_of_ours_is_repaired() {
        let (mut answers, found) = (Answers::default(), stored("one", 80));
        answers.note(&ensure(Kind::ResourceExport, None, &wanted(80)).unwrap(), &found, NOW);
        assert!(!answers.is_in_vain(&patch(&found, 80), NOW));
    }

    #[test]
    fn what_is_listed_anew_is_asked_for_again() {
        let mut answers = answered();
        assert_eq!(answers.forget_kind(Kind::ResourceImport), []);
        assert_eq!(answers.forget_kind(Kind::ResourceExport), [key()]);
        assert!(!answers.is_in_vain(&patch(&stored("one", 80), 80), NOW));
    }
}

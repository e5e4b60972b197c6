//! What an API server does not keep of what it is sent: it drops fields that its CustomResourceDefinition lacks, such as
//! ours where upstream's or an older one is installed. Asking for them again and again would not help. A watch that goes on
//! where it ended does not tell that the definition has changed, so our own API server is asked for one object of each kind
//! a minute, in turn, and for all of them once it keeps more.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::mem::discriminant;
use std::time::Duration;

use serde_json::Value;
use tracing::info;

use crate::action::Action;
use crate::kind::{Kind, Side};
use crate::objects::Key;

/// How long our own API server is not asked for what it has dropped of objects of a kind. Leaders, which have far more objects,
/// are asked when these are listed again.
const PAUSE: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Answers {
    /// For each object what is missing still after the last patch of it and of its status.
    missing: BTreeMap<Key, Vec<Action>>,
    /// The kinds that something is or was missing from.
    kinds: BTreeMap<Kind, Asked>,
}

/// When the API server was asked last for what is missing from objects of a kind.
#[derive(Debug)]
struct Asked {
    at: Duration,
    key: Key,
    /// Whether the answer is still to come.
    is_open: bool,
}

impl Answers {
    /// Notes what became of the object that `asked` was sent for. Names the objects that may be kept as a whole now.
    pub(super) fn note(&mut self, asked: &Action, answer: &Value, now: Duration) -> Vec<Key> {
        let key = asked.key();
        let missing = asked.missing_from(answer);
        let all = self.missing.entry(key.clone()).or_default();
        all.retain(|other| discriminant(other) != discriminant(asked));
        all.extend(missing);
        let is_whole = all.is_empty();
        if is_whole {
            self.missing.remove(key);
        } else if let Entry::Vacant(kind) = self.kinds.entry(key.kind) {
            info!(%key, "The API server drops fields of objects of this kind: it knows an older version");
            kind.insert(Asked { at: now, key: key.clone(), is_open: false });
        }
        let answered = self.kinds.get_mut(&key.kind).filter(|last| last.is_open && last.key == *key);
        let Some(last) = answered else { return Vec::new() };
        last.is_open = false;
        if is_whole { self.forget_kind(key.kind) } else { Vec::new() }
    }

    /// Whether just this is known not to be kept.
    pub(super) fn is_in_vain(&self, action: &Action) -> bool {
        let missing = self.missing.get(action.key());
        missing.is_some_and(|all| all.iter().any(|missing| missing.is_like(action)))
    }

    /// The objects that our own API server is asked for again at `now`, one of each kind.
    pub(super) fn ask_again(&mut self, now: Duration) -> Vec<Key> {
        let due =
            self.kinds.iter().filter(|(kind, last)| kind.side() == Side::Local && last.at + PAUSE <= now);
        let due: Vec<Key> = due.filter_map(|(kind, last)| self.next_of(*kind, &last.key)).cloned().collect();
        for key in &due {
            self.forget(key);
            self.kinds.insert(key.kind, Asked { at: now, key: key.clone(), is_open: true });
        }
        due
    }

    /// When to ask again; nothing where nothing is missing.
    pub(super) fn next(&self) -> Option<Duration> {
        let local = self.kinds.iter().filter(|(kind, _)| kind.side() == Side::Local);
        let lacking = local.filter(|(kind, _)| self.of_kind(**kind).next().is_some());
        lacking.map(|(_, last)| last.at + PAUSE).min()
    }

    /// The object is gone.
    pub(super) fn forget(&mut self, key: &Key) {
        self.missing.remove(key);
    }

    /// The API server may keep more of a kind now. Names the objects that something is missing from.
    pub(super) fn forget_kind(&mut self, kind: Kind) -> Vec<Key> {
        let keys: Vec<Key> = self.of_kind(kind).cloned().collect();
        keys.iter().for_each(|key| self.forget(key));
        self.kinds.remove(&kind);
        keys
    }

    /// The object after this one that something is missing from, the first after the last.
    fn next_of(&self, kind: Kind, key: &Key) -> Option<&Key> {
        self.of_kind(kind).find(|other| *other > key).or_else(|| self.of_kind(kind).next())
    }

    fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Key> {
        let from = self.missing.range(Key::new(kind, "", "")..);
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
        assert!(answers.is_in_vain(&patch(&stored("one", 80), 80)));
        answers.note(&patch(&stored("one", 80), 80), &stored("one", 80), NOW);
        assert!(answers.is_in_vain(&patch(&stored("one", 80), 80)), "asked for alone it is not kept either");
    }

    #[test]
    fn what_differs_in_anything_else_is_repaired() {
        let answers = answered();
        assert!(!answers.is_in_vain(&patch(&stored("one", 81), 80)), "somebody has edited it");
        assert!(!answers.is_in_vain(&patch(&stored("one", 80), 82)), "something else is wanted");
        assert!(!answers.is_in_vain(&patch(&stored("two", 80), 80)), "it is another object of that name");
    }

    #[test]
    fn what_is_kept_is_asked_for_again_when_it_is_gone() {
        let mut answers = answered();
        answers.note(&patch(&stored("one", 80), 80), &wanted(80), NOW);
        assert!(!answers.is_in_vain(&patch(&stored("one", 80), 80)));
    }

    #[test]
    fn a_status_that_is_kept_says_nothing_of_the_rest() {
        let mut answers = answered();
        let (object, status) = (stored("one", 80), json!({ "phase": "new" }));
        let mut with_status = object.clone();
        with_status["status"] = status.clone();
        answers.note(&ensure_status(&key(), &object, &status).unwrap(), &with_status, NOW);
        assert!(answers.is_in_vain(&patch(&object, 80)));
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
        assert!(answers.missing.is_empty());
        answers.note(&asked, &at_version("8"), NOW);
        assert!(answers.is_in_vain(&ensure_status(&key, &at_version("8"), &status).unwrap()));
    }

    fn after(seconds: u64) -> Duration {
        NOW + Duration::from_secs(seconds)
    }

    /// A patch of an object, and the object that comes of it: a field is missing.
    fn dropped(kind: Kind, name: &str) -> (Action, Value) {
        let found = json!({ "metadata": { "name": name, "namespace": "b", "uid": name } });
        (ensure(kind, Some(&found), &whole(name)).unwrap(), found)
    }

    fn whole(name: &str) -> Value {
        json!({ "metadata": { "name": name, "namespace": "b", "uid": name }, "exported": "c" })
    }

    /// Its definition may be another one, and the watch may have gone on where it ended.
    #[test]
    fn our_own_api_server_is_asked_again_after_a_minute_and_no_leader() {
        let asked_again = |kind: Kind| {
            let (asked, found) = dropped(kind, "a");
            let mut answers = Answers::default();
            answers.note(&asked, &found, NOW);
            let next = answers.next();
            let early = answers.ask_again(after(59)).len();
            assert!(answers.is_in_vain(&asked));
            (next, early, answers.ask_again(after(60)).len(), answers.is_in_vain(&asked))
        };
        assert_eq!(asked_again(Kind::Gateway), (Some(after(60)), 0, 1, false));
        assert_eq!(asked_again(Kind::ResourceExport), (None, 0, 0, true));
    }

    #[test]
    fn one_object_of_a_kind_is_asked_for_in_a_minute_and_all_once_it_is_kept() {
        let mut answers = Answers::default();
        let all: Vec<(Action, Value)> = ["a", "b", "c"].map(|name| dropped(Kind::Gateway, name)).into();
        for (asked, found) in &all {
            answers.note(asked, found, NOW);
        }
        let key = |number: usize| all[number].0.key().clone();
        for (minutes, number) in [(1, 1), (2, 2), (3, 0), (4, 1)] {
            let now = after(60 * minutes);
            assert_eq!(answers.ask_again(now), [key(number)]);
            assert_eq!(answers.ask_again(now), [], "it has been asked for");
            let (asked, found) = &all[number];
            assert_eq!(answers.note(asked, found, now), [], "it is not kept");
            assert_eq!(answers.next(), Some(now + PAUSE));
        }
        assert_eq!(answers.ask_again(after(300)), [key(2)]);
        assert_eq!(answers.note(&all[2].0, &whole("c"), after(300)), [key(0), key(1)]);
        assert_eq!(answers.next(), None);
        assert!(!answers.is_in_vain(&all[0].0));
    }

    #[test]
    fn what_is_kept_without_a_question_tells_nothing_of_other_objects() {
        let mut answers = Answers::default();
        let ((first, found), (second, other)) = (dropped(Kind::Gateway, "a"), dropped(Kind::Gateway, "b"));
        answers.note(&first, &found, NOW);
        answers.note(&second, &other, NOW);
        assert_eq!(answers.note(&first, &whole("a"), NOW), []);
        assert!(answers.is_in_vain(&second));
    }

    #[test]
    fn an_object_of_somebody_else_in_the_place_of_ours_is_repaired() {
        let (mut answers, found) = (Answers::default(), stored("one", 80));
        answers.note(&ensure(Kind::ResourceExport, None, &wanted(80)).unwrap(), &found, NOW);
        assert!(!answers.is_in_vain(&patch(&found, 80)));
    }

    #[test]
    fn what_is_listed_anew_is_asked_for_again() {
        let mut answers = answered();
        assert_eq!(answers.forget_kind(Kind::ResourceImport), []);
        assert_eq!(answers.forget_kind(Kind::ResourceExport), [key()]);
        assert!(!answers.is_in_vain(&patch(&stored("one", 80), 80)));
    }
}

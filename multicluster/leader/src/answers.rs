//! What the API server made of what it was asked for, where that is something else: it drops fields that its
//! CustomResourceDefinition lacks, such as ours where upstream's are installed. Asking again would not help.

use std::collections::BTreeMap;

use antrea_kit::watch::WatchEvent;

/// By the name of the object: what was asked for, and what it became.
#[derive(Clone, Debug)]
pub(crate) struct Answers<T>(BTreeMap<String, (T, T)>);

impl<T> Default for Answers<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: PartialEq> Answers<T> {
    /// Takes in what the watch of the objects tells. When all are listed anew, the API server may keep more than before:
    /// a change of the CustomResourceDefinition ends the watch, and mostly what it would go on with is forgotten then.
    pub(crate) fn learn<O>(&mut self, event: &WatchEvent<O>) {
        if matches!(event, WatchEvent::Resynced(_)) {
            self.0.clear();
        }
    }

    /// Notes an answer. Whether it is another than was asked for, as the first of all.
    pub(crate) fn note(&mut self, name: &str, asked: T, got: T) -> bool {
        if asked == got {
            self.0.remove(name);
            return false;
        }
        let is_first = self.0.is_empty();
        self.0.insert(name.to_owned(), (asked, got));
        is_first
    }

    /// Whether `present` is what becomes of `wanted`.
    pub(crate) fn satisfy(&self, name: &str, wanted: &T, present: &T) -> bool {
        wanted == present || wanted == self.meant(name, present)
    }

    /// What was asked for, where `present` is what became of it.
    pub(crate) fn meant<'a>(&'a self, name: &str, present: &'a T) -> &'a T {
        self.0.get(name).filter(|(_, got)| got == present).map_or(present, |(asked, _)| asked)
    }

    /// The object is gone.
    pub(crate) fn forget(&mut self, name: &str) {
        self.0.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_api_server_drops_is_not_asked_for_again_unless_something_changes() {
        let mut answers = Answers::default();
        assert!(!answers.satisfy("a", &"ports, clusters", &"ports"));
        assert!(answers.note("a", "ports, clusters", "ports"));
        assert!(answers.satisfy("a", &"ports, clusters", &"ports"));
        assert!(!answers.satisfy("a", &"ports, clusters", &"nothing"), "drift is repaired");
        assert!(!answers.satisfy("a", &"other ports, clusters", &"ports"));
        assert!(!answers.note("a", "ports", "ports"));
        assert!(answers.satisfy("a", &"ports", &"ports"));
    }

    #[test]
    fn what_the_api_server_drops_is_news_once_until_the_objects_are_listed_anew() {
        let mut answers = Answers::default();
        assert!(answers.note("a", "ports, clusters", "ports"));
        assert!(!answers.note("b", "ports, clusters", "ports"));
        answers.learn(&WatchEvent::Applied("a"));
        assert!(answers.satisfy("b", &"ports, clusters", &"ports"));
        answers.learn(&WatchEvent::Resynced(vec!["a", "b"]));
        assert!(!answers.satisfy("b", &"ports, clusters", &"ports"));
        assert!(answers.note("b", "ports, clusters", "ports"));
    }
}

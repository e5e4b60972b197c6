//! The Nodes that need an object.

use std::fmt;
use std::sync::{Arc, LazyLock};

use crate::Text;

static NOBODY: LazyLock<Arc<[Text]>> = LazyLock::new(|| Arc::from([]));

/// A set of Nodes, sorted by name. Copies share it.
#[derive(Clone, PartialEq, Eq)]
pub struct Span(Arc<[Text]>);

impl Span {
    /// The span of Nodes that are sorted by name and named once each.
    pub fn from_sorted(nodes: Vec<Text>) -> Self {
        if nodes.is_empty() { Self::default() } else { Self(nodes.into()) }
    }

    /// Whether a Node is in it.
    pub fn contains(&self, node: &str) -> bool {
        self.0.binary_search_by(|other| other.as_str().cmp(node)).is_ok()
    }

    /// All Nodes, sorted by name.
    pub fn nodes(&self) -> &[Text] {
        &self.0
    }
}

impl Default for Span {
    fn default() -> Self {
        Self(NOBODY.clone())
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(Text::as_str).collect();
        f.write_str(&names.join(","))
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{self}]")
    }
}

/// The span of an object before and after an update.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct SpanChange {
    /// Watchers on these Nodes know the object.
    pub before: Span,
    /// Watchers on these Nodes ought to.
    pub after: Span,
}

impl SpanChange {
    /// Whether both are the same Nodes.
    pub fn is_none(&self) -> bool {
        self.before == self.after
    }

    /// Nodes to which the object is new.
    pub fn entered(&self) -> impl Iterator<Item = &Text> {
        self.after.nodes().iter().filter(|node| !self.before.contains(node.as_str()))
    }

    /// Nodes that do not need it any more.
    pub fn left(&self) -> impl Iterator<Item = &Text> {
        self.before.nodes().iter().filter(|node| !self.after.contains(node.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(names: &str) -> Span {
        Span::from_sorted(names.split_whitespace().map(Text::from).collect())
    }

    #[test]
    fn a_change_names_who_enters_and_who_leaves() {
        let change = SpanChange { before: span("a b d"), after: span("b c d e") };
        let entered: Vec<String> = change.entered().map(Text::to_string).collect();
        let left: Vec<String> = change.left().map(Text::to_string).collect();
        assert_eq!((entered.join(" ").as_str(), left.join(" ").as_str()), ("c e", "a"));
        assert!(!change.is_none() && span("a").contains("a") && !span("a").contains("b"));
    }
}

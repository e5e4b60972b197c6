//! What a watcher selects: field selectors of requests.

use antrea_policy::Text;

/// What a watcher selects. Both may be asked for at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// Only objects that this Node needs, as it needs them.
    pub node: Option<Text>,
    /// Only the object of this name.
    pub name: Option<String>,
}

/// A field selector that is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnknownSelector(pub(crate) String);

impl Selector {
    /// What a Node needs.
    pub fn node(name: &str) -> Self {
        Self { node: Some(name.into()), name: None }
    }

    /// Reads `nodeName=…` and `metadata.name=…`, joined by commas.
    pub(crate) fn parse(text: &str) -> Result<Self, UnknownSelector> {
        let mut selector = Self::default();
        for term in text.split(',').filter(|term| !term.is_empty()) {
            match term.split_once('=').map(|(key, value)| (key, value.trim_start_matches('='))) {
                Some(("nodeName", node)) => selector.node = Some(node.into()),
                Some(("metadata.name", name)) => selector.name = Some(name.to_owned()),
                _ => return Err(UnknownSelector(term.to_owned())),
            }
        }
        Ok(selector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let read = match Selector::parse(text) {
            Ok(Selector { node, name }) => {
                format!("{} {}", node.map_or("-".into(), |node| node.to_string()), name.unwrap_or("-".into()))
            }
            Err(UnknownSelector(term)) => format!("{term:?}"),
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn two_fields_are_known() {
        check("", "- -");
        check("nodeName=n1", "n1 -");
        check("nodeName==n1,metadata.name=a", "n1 a");
        check("metadata.name=a", "- a");
        check("nodeName!=n1", "\"nodeName!=n1\"");
        check("spec.x=1", "\"spec.x=1\"");
        check("nodeName", "\"nodeName\"");
    }
}

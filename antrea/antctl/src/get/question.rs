//! Questions to agents and the controller.

use std::borrow::Cow;

/// A question to an agent or the controller: a path and its parameters.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Question<'a> {
    pub(super) path: Cow<'static, str>,
    pub(super) parameters: Vec<(&'static str, &'a str)>,
}

impl<'a> Question<'a> {
    pub(super) fn new(path: impl Into<Cow<'static, str>>) -> Self {
        Self { path: path.into(), parameters: Vec::new() }
    }

    /// With those parameters that are given.
    pub(super) fn with<const N: usize>(self, parameters: [(&'static str, Option<&'a str>); N]) -> Self {
        let given = parameters.into_iter().filter_map(|(name, value)| Some((name, value?)));
        Self { parameters: self.parameters.into_iter().chain(given).collect(), ..self }
    }
}

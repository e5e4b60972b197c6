//! Label selectors, and the text that names groups after them.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use crate::intern::few::Few;

/// Conditions on labels that all have to hold, in the order of their keys. Its text is that of apimachinery's
/// `labels.Selector`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Selector<'a>(Few<Requirement<'a>>);

/// The one that everything matches.
pub(crate) static EVERYTHING: Selector<'static> = Selector(Few::None);

/// A condition on the label of a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Requirement<'a> {
    pub(crate) key: &'a str,
    pub(crate) condition: Condition<'a>,
}

/// A condition; values are sorted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Condition<'a> {
    Is(&'a str),
    In(Vec<&'a str>),
    /// Also true without the label.
    NotIn(Vec<&'a str>),
    Exists,
    DoesNotExist,
}

impl<'a> Selector<'a> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Requirement<'a>> {
        self.0.iter()
    }

    /// A selector, or which of its fields makes that nobody can say what it selects, and why.
    pub(crate) fn from_resource(selector: &'a LabelSelector) -> Result<Self, (String, String)> {
        let labels = selector.match_labels.as_ref();
        let expressions = selector.match_expressions.as_deref().unwrap_or_default();
        if labels.is_some_and(|labels| labels.contains_key("")) {
            return Err(("matchLabels".to_owned(), "a key is empty".to_owned()));
        }
        let count = labels.map_or(0, BTreeMap::len) + expressions.len();
        let mut labels = labels
            .into_iter()
            .flatten()
            .map(|(key, value)| Requirement { key, condition: Condition::Is(value) });
        // Nearly all selectors are one label, or nothing.
        match (count, expressions.is_empty()) {
            (0, _) => return Ok(Self(Few::None)),
            (1, true) => return Ok(Self(labels.next().map_or(Few::None, Few::One))),
            _ => {}
        }
        let mut requirements = Vec::with_capacity(count);
        requirements.extend(labels);
        for (at, expression) in expressions.iter().enumerate() {
            let condition = condition(expression)
                .map_err(|(name, reason)| (format!("matchExpressions[{at}].{name}"), reason))?;
            requirements.push(Requirement { key: &expression.key, condition });
        }
        requirements.sort_by_key(|requirement| requirement.key);
        Ok(Self(Few::Many(requirements)))
    }
}

fn condition(expression: &LabelSelectorRequirement) -> Result<Condition<'_>, (&'static str, String)> {
    let mut values: Vec<&str> = expression.values.iter().flatten().map(String::as_str).collect();
    values.sort_unstable();
    let operator = expression.operator.as_str();
    match (operator, values.is_empty()) {
        _ if expression.key.is_empty() => Err(("key", "the key is empty".to_owned())),
        ("In", false) => Ok(Condition::In(values)),
        ("NotIn", false) => Ok(Condition::NotIn(values)),
        ("Exists", true) => Ok(Condition::Exists),
        ("DoesNotExist", true) => Ok(Condition::DoesNotExist),
        ("In" | "NotIn", true) => Err(("values", format!("{operator} needs at least one value"))),
        ("Exists" | "DoesNotExist", false) => Err(("values", format!("{operator} takes no values"))),
        _ => Err(("operator", format!("{operator:?} is none of In, NotIn, Exists, DoesNotExist"))),
    }
}

impl fmt::Display for Selector<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, requirement) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key;
        match &self.condition {
            Condition::Is(value) => write!(f, "{key}={value}"),
            Condition::In(values) => write!(f, "{key} in ({})", values.join(",")),
            Condition::NotIn(values) => write!(f, "{key} notin ({})", values.join(",")),
            Condition::Exists => f.write_str(key),
            Condition::DoesNotExist => write!(f, "!{key}"),
        }
    }
}

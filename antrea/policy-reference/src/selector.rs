//! Label selectors.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

/// A selector that the API forbids: nobody can say what it selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadSelector;

/// Labels of an object; none when it has no such field.
pub(crate) type Labels<'a> = Option<&'a BTreeMap<String, String>>;

/// Whether an object with these labels is selected: every pair and every requirement must hold, so that a selector
/// with neither selects everything.
pub(crate) fn selects(selector: &LabelSelector, labels: Labels<'_>) -> Result<bool, BadSelector> {
    let value = |key: &str| labels.and_then(|labels| labels.get(key)).map(String::as_str);
    let mut selected = true;
    for (key, wanted) in selector.match_labels.iter().flatten() {
        if key.is_empty() {
            return Err(BadSelector);
        }
        selected &= value(key) == Some(wanted);
    }
    // All of them, also after one that does not hold: a bad one must be found whoever is asked about.
    for requirement in selector.match_expressions.iter().flatten() {
        selected &= holds(requirement, value(&requirement.key))?;
    }
    Ok(selected)
}

fn holds(requirement: &LabelSelectorRequirement, value: Option<&str>) -> Result<bool, BadSelector> {
    let values = requirement.values.as_deref().unwrap_or_default();
    let among = value.is_some_and(|value| values.iter().any(|one| one == value));
    match requirement.operator.as_str() {
        _ if requirement.key.is_empty() => Err(BadSelector),
        "In" if !values.is_empty() => Ok(among),
        // A key that the object does not have has none of the values.
        "NotIn" if !values.is_empty() => Ok(!among),
        "Exists" if values.is_empty() => Ok(value.is_some()),
        "DoesNotExist" if values.is_empty() => Ok(value.is_none()),
        _ => Err(BadSelector),
    }
}

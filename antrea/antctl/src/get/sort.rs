//! In which order objects are printed.

use std::cmp::Ordering;
use std::str::FromStr;

use anyhow::{Result, bail};
use serde_json::Value;

use crate::answer::inner;

/// An order of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// By a field; objects without it come first.
    Field(FieldPath),
    /// Policies as they are evaluated: by tier, by priority in it, by name.
    EffectivePriority,
}

/// A path of fields: `.sourceRef.name`, `{.rules[0].direction}`, `metadata.name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldPath {
    text: String,
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Field(String),
    Item(usize),
}

/// Policies of Kubernetes are evaluated between the default tier (250) and the baseline tier (253).
const TIER_OF_KUBERNETES: i64 = 251;

impl Order {
    pub(super) fn sorted<'a>(&self, mut objects: Vec<&'a Value>) -> Result<Vec<&'a Value>> {
        match self {
            Self::EffectivePriority => objects.sort_by(|a, b| by_effective_priority(a, b)),
            Self::Field(path) => {
                if !objects.is_empty() && !objects.iter().any(|object| path.find(object).is_some()) {
                    bail!("cannot sort by {}: nothing that was found has this field", path.text);
                }
                objects.sort_by(|a, b| compare(path.find(a), path.find(b)));
            }
        }
        Ok(objects)
    }
}

fn by_effective_priority(a: &Value, b: &Value) -> Ordering {
    let tier = |policy: &Value| policy.get("tierPriority").and_then(Value::as_i64);
    let tier = |policy: &Value| tier(policy).unwrap_or(TIER_OF_KUBERNETES);
    let name = |policy: &Value| inner(policy, "metadata", "name");
    let priority = || compare(a.get("priority"), b.get("priority"));
    tier(a).cmp(&tier(b)).then_with(priority).then_with(|| name(a).cmp(&name(b)))
}

/// Numbers by what they are worth, all else as text.
fn compare(a: Option<&Value>, b: Option<&Value>) -> Ordering {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match (a, b) {
        (Some(a), Some(b)) => match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            _ => text(a).cmp(&text(b)),
        },
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

impl FieldPath {
    fn find<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        self.steps.iter().try_fold(object, |value, step| match step {
            Step::Field(name) => value.get(name),
            Step::Item(index) => value.get(index),
        })
    }
}

impl FromStr for FieldPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let steps = steps(text).ok_or_else(|| {
            format!("{text:?} is not a path of fields, such as .metadata.name or .rules[0].direction")
        })?;
        Ok(Self { text: text.to_owned(), steps })
    }
}

fn steps(text: &str) -> Option<Vec<Step>> {
    let path = text.strip_prefix('{').map_or(Some(text), |inner| inner.strip_suffix('}'))?;
    let path = path.strip_prefix('.').unwrap_or(path);
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (name, items) = part.split_once('[').map_or((part, None), |(name, items)| (name, Some(items)));
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        {
            return None;
        }
        steps.push(Step::Field(name.to_owned()));
        for item in items.map(|items| items.split('[')).into_iter().flatten() {
            steps.push(Step::Item(item.strip_suffix(']')?.parse().ok()?));
        }
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(path: &str, expected: &str) {
        let objects = [
            json!({"metadata": {"name": "b"}, "rules": [{"priority": 10}]}),
            json!({"metadata": {"name": "a"}, "rules": [{"priority": 9}]}),
            json!({"metadata": {"name": "c"}}),
        ];
        let sorted = Order::Field(path.parse().unwrap()).sorted(objects.iter().collect());
        let names = sorted.map(|objects| {
            let names: Vec<_> =
                objects.iter().map(|object| object["metadata"]["name"].as_str().unwrap()).collect();
            names.join(" ")
        });
        assert_eq!(names.unwrap_or_else(|error| error.to_string()), expected);
    }

    #[test]
    fn objects_are_sorted_by_a_field_numbers_as_numbers() {
        check(".metadata.name", "a b c");
        check("{.metadata.name}", "a b c");
        check("metadata.name", "a b c");
        check(".rules[0].priority", "c a b");
        check(".spec.x", "cannot sort by .spec.x: nothing that was found has this field");
    }

    #[test]
    fn a_path_that_is_none_is_refused() {
        for path in [".", ".a..b", "{.a", ".a[x]", ".a[0", ".a[0]b", "a b", ".items[*].a"] {
            assert!(path.parse::<FieldPath>().is_err(), "{path}");
        }
    }

    #[test]
    fn policies_are_in_the_order_in_which_they_are_evaluated() {
        let policies = json!([
            {"metadata": {"name": "baseline"}, "tierPriority": 253, "priority": 1},
            {"metadata": {"name": "y"}},
            {"metadata": {"name": "late"}, "tierPriority": 250, "priority": 10},
            {"metadata": {"name": "early"}, "tierPriority": 250, "priority": 9.5},
            {"metadata": {"name": "x"}},
        ]);
        let sorted = Order::EffectivePriority.sorted(policies.as_array().unwrap().iter().collect()).unwrap();
        let names: Vec<_> =
            sorted.iter().map(|policy| policy["metadata"]["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["early", "late", "x", "y", "baseline"]);
    }
}

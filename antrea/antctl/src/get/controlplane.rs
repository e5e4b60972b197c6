//! What there is in `controlplane.antrea.io`: where it is asked for, in which order and how it is printed.

use anyhow::Result;
use clap::Args;
use serde_json::Value;

use antrea_shared_api::controlplane::v1beta2::API_VERSION;

use super::question::Question;
use super::sort::{FieldPath, Order};
use crate::api::Component;
use crate::output::{self, Cells, Format};

/// A kind of object.
pub(super) struct Kind {
    /// What the controller's API calls it.
    pub(super) resource: &'static str,
    /// Where an agent tells of it.
    pub(super) agent_path: &'static str,
    pub(super) header: &'static [&'static str],
    /// What of an object stands in a row.
    pub(super) row: fn(&Value) -> Cells,
    /// What JSON and YAML show of it.
    pub(super) shown: fn(&Value) -> Value,
}

impl Kind {
    /// Asks for all, or for one.
    pub(super) fn question<'a>(&self, component: Component, name: Option<&'a str>) -> Question<'a> {
        match (component, name) {
            (Component::Agent, name) => Question::new(self.agent_path).with([("name", name)]),
            (Component::Controller, None) => Question::new(format!("/apis/{API_VERSION}/{}", self.resource)),
            (Component::Controller, Some(name)) => {
                Question::new(format!("/apis/{API_VERSION}/{}/{name}", self.resource))
            }
        }
    }

    /// The text of an answer: a list, or one object.
    pub(super) fn text(&self, answer: &Value, order: &Order, format: Format) -> Result<String> {
        let Some(items) = answer.get("items") else {
            return Ok(output::text(&(self.shown)(answer), format, |_| self.table(&[answer])));
        };
        let objects = order.sorted(items.as_array().into_iter().flatten().collect())?;
        if objects.is_empty() {
            // Upstream has the empty text in the place of an empty list.
            return Ok(output::text(&"".into(), format, |_| "\n\n".to_owned()));
        }
        let shown = objects.iter().map(|object| (self.shown)(object)).collect();
        Ok(output::text(&shown, format, |_| self.table(&objects)))
    }

    fn table(&self, objects: &[&Value]) -> String {
        output::table_as_it_is(self.header, objects.iter().map(|object| (self.row)(object)).collect())
    }
}

/// Which groups.
#[derive(Debug, Args)]
pub(crate) struct GroupOptions {
    /// The name of a group
    #[arg(value_parser = object_name)]
    name: Option<String>,

    /// Sort by this field, such as .metadata.name; by name otherwise
    #[arg(long, value_name = "PATH", default_value = "", hide_default_value = true, value_parser = group_order)]
    sort_by: Order,
}

impl GroupOptions {
    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub(super) const fn order(&self) -> &Order {
        &self.sort_by
    }
}

fn group_order(text: &str) -> Result<Order, String> {
    let path = if text.is_empty() { ".metadata.name" } else { text };
    path.parse::<FieldPath>().map(Order::Field)
}

/// The name of an object that can stand in the path of a URL.
pub(super) fn object_name(text: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) && !text.starts_with('.') {
        return Ok(text.to_owned());
    }
    Err(format!("{text:?} is not a name of an object: letters, digits, '-' and '.' are wanted"))
}

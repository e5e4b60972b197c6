//! `/version`.

use antrea_kit::version;
use serde_json::Value;

use crate::run::VERSION;

pub(super) fn answer() -> Value {
    version::document(VERSION)
}

//! Objects recorded from upstream come through our types unchanged.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod controlplane;
mod damage;
mod definitions;
mod frozen;
mod golden;
mod validation;

use antrea_shared_api::crd::v1beta1::{AntreaAgentInfo, AntreaControllerInfo, Tier};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads the object as `T` and writes it again: nothing is lost, added or spelled otherwise.
#[track_caller]
fn check<T: Serialize + DeserializeOwned>(recorded: &Value) {
    let object: T = serde_json::from_value(recorded.clone()).unwrap();
    assert_eq!(serde_json::to_value(&object).unwrap(), *recorded);
}

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

#[track_caller]
fn items(list: &Value) -> &[Value] {
    let items = list["items"].as_array().unwrap();
    assert!(!items.is_empty());
    items
}

#[test]
fn agent_infos() {
    check::<AntreaAgentInfo>(&yaml(include_str!("../golden/antreaagentinfo.yaml")));
    check::<AntreaAgentInfo>(&yaml(include_str!("../golden/antreaagentinfo-without-policies.yaml")));
}

#[test]
fn controller_infos() {
    for item in items(&yaml(include_str!("../golden/antreacontrollerinfo-list.yaml"))) {
        check::<AntreaControllerInfo>(item);
    }
}

#[test]
fn tiers() {
    for item in items(&yaml(include_str!("../golden/tiers.yaml"))) {
        check::<Tier>(item);
    }
}

#[test]
fn a_new_info_says_its_kind_and_name() {
    assert_eq!(
        serde_json::to_string(&AntreaAgentInfo::new("n1")).unwrap(),
        "{\"apiVersion\":\"crd.antrea.io/v1beta1\",\"kind\":\"AntreaAgentInfo\",\"metadata\":{\"name\":\"n1\"},\
         \"podRef\":{},\"nodeRef\":{},\"ovsInfo\":{},\"networkPolicyControllerInfo\":{},\"networkInfo\":{}}"
    );
}

#[test]
fn an_info_without_kind_is_read_as_items_of_a_list_are() {
    let info: AntreaAgentInfo = serde_json::from_str("{\"metadata\":{\"name\":\"n1\"}}").unwrap();
    assert_eq!(info, AntreaAgentInfo::new("n1"));
}

//! Which objects are valid: YAML in, the paths and problems of fields out.

use antrea_shared_api::mcs;
mod exports;
mod imports;
mod membership;

use antrea_shared_api::multicluster::{v1alpha1, v1alpha2};
use antrea_shared_api::validation::{FieldError, Validate};
use serde::de::DeserializeOwned;

use crate::{golden, items, yaml};

fn read<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_value(yaml(text)).unwrap()
}

#[track_caller]
fn check_errors(errors: &[FieldError], expected: &[&str]) {
    assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
}

#[track_caller]
fn check<T: Validate + DeserializeOwned>(object: &str, expected: &[&str]) {
    check_errors(&read::<T>(object).validate(), expected);
}

#[track_caller]
fn check_update<T: Validate + DeserializeOwned>(old: &str, new: &str, expected: &[&str]) {
    check_errors(&read::<T>(new).validate_update(&read::<T>(old)), expected);
}

#[track_caller]
fn check_recorded<T: Validate + DeserializeOwned>(list: &str) {
    for item in items(&yaml(list)) {
        let object: T = serde_json::from_value(item.clone()).unwrap();
        check_errors(&object.validate(), &[]);
    }
}

const NOT_A_LABEL: &str = "is not a DNS label: lower-case letters, digits and '-', 63 characters at most, beginning \
                           and ending with a letter or digit";

#[test]
fn what_upstream_writes_is_valid() {
    check_recorded::<v1alpha2::ClusterSet>(golden::CLUSTER_SETS);
    check_recorded::<v1alpha1::MemberClusterAnnounce>(golden::ANNOUNCES);
    check_recorded::<v1alpha1::ResourceExport>(golden::EXPORTS);
    check_recorded::<v1alpha1::ResourceImport>(golden::IMPORTS);
    check_recorded::<v1alpha1::Gateway>(golden::GATEWAYS);
    check_recorded::<v1alpha1::ClusterInfoImport>(golden::CLUSTER_INFO_IMPORTS);
    check_recorded::<v1alpha1::LabelIdentity>(golden::LABEL_IDENTITIES);
    check_recorded::<mcs::v1alpha1::ServiceExport>(golden::SERVICE_EXPORTS);
    check_recorded::<mcs::v1alpha1::ServiceImport>(golden::SERVICE_IMPORTS);
}

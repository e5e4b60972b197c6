//! Multi-cluster objects recorded from upstream come through our types unchanged.

use antrea_shared_api::{
    labels, mcs,
    multicluster::{v1alpha1, v1alpha2},
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{check, items, yaml};

/// Every object of a recorded list.
#[track_caller]
fn check_all<T: Serialize + DeserializeOwned>(recorded: &str) {
    items(&yaml(recorded)).iter().for_each(check::<T>);
}

macro_rules! golden {
    ($($test:ident: $type:ty;)*) => {
        $(
            #[test]
            fn $test() {
                check_all::<$type>(include_str!(concat!("../golden/multicluster/", stringify!($test), ".yaml")));
            }
        )*
    };
}

golden! {
    resourceexports: v1alpha1::ResourceExport;
    resourceimports: v1alpha1::ResourceImport;
    labelidentities: v1alpha1::LabelIdentity;
    clustersets: v1alpha2::ClusterSet;
    memberclusterannounces: v1alpha1::MemberClusterAnnounce;
    gateways: v1alpha1::Gateway;
    clusterinfoimports: v1alpha1::ClusterInfoImport;
}

#[test]
fn mcs_objects() {
    check_all::<mcs::v1alpha1::ServiceExport>(include_str!(
        "../golden/multicluster/serviceexports-v1alpha1.yaml"
    ));
    check_all::<mcs::v1alpha1::ServiceImport>(include_str!(
        "../golden/multicluster/serviceimports-v1alpha1.yaml"
    ));
}

#[test]
fn label_identities_have_the_names_of_their_labels() {
    for item in items(&yaml(include_str!("../golden/multicluster/labelidentities.yaml"))) {
        let label = item["spec"]["label"].as_str().unwrap();
        assert_eq!(item["metadata"]["name"], labels::identity_name(label));
        let parsed = labels::parse(label).unwrap();
        assert_eq!(labels::normalized(&parsed.namespace, &parsed.pod), label);
    }
}

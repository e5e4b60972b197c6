//! ServiceExport and ServiceImport of all versions.

use std::collections::BTreeMap;

use super::{FieldError, Problems, Validate, ports, values};
use crate::mcs::{ServiceExportSpec, ServiceImportSpec, ServiceImportType, v1alpha1, v1beta1};

macro_rules! validate_spec {
    ($($kind:ty: $check:ident;)*) => {
        $(
            impl Validate for $kind {
                fn validate(&self) -> Vec<FieldError> {
                    Problems::of(|problems| problems.within("spec", |problems| $check(problems, &self.spec)))
                }
            }
        )*
    };
}

validate_spec! {
    v1alpha1::ServiceExport: check_export;
    v1beta1::ServiceExport: check_export;
    v1alpha1::ServiceImport: check_import;
    v1beta1::ServiceImport: check_import;
}

fn check_export(problems: &mut Problems, spec: &ServiceExportSpec) {
    let fields = ["exportedLabels", "exportedAnnotations"];
    check_metadata(problems, fields, &spec.exported_labels, &spec.exported_annotations);
}

/// Labels and annotations, in two fields.
pub(crate) fn check_metadata(
    problems: &mut Problems,
    [label_field, annotation_field]: [&str; 2],
    labels: &BTreeMap<String, String>,
    annotations: &BTreeMap<String, String>,
) {
    for (key, value) in labels {
        problems.check(label_field, values::qualified_name(key));
        problems.check(&format!("{label_field}[{key}]"), values::label_value(value));
    }
    problems.check(label_field, values::labels(labels, annotations));
    problems.check(annotation_field, values::annotations(annotations));
    for key in annotations.keys() {
        problems.check(annotation_field, values::qualified_name(key));
    }
}

pub(crate) fn check_import(problems: &mut Problems, spec: &ServiceImportSpec) {
    ports::check(problems, &spec.ports);
    problems.check_each("ips", &spec.ips, values::ip);
    if spec.ips.len() > 2 {
        problems.add("ips", "there may be two, one of each family");
    } else if spec.import_type == ServiceImportType::Headless && !spec.ips.is_empty() {
        problems.add("ips", "a headless Service has none");
    }
    problems.check("type", values::one_of(spec.import_type.as_str(), ServiceImportType::KNOWN));
    check_properties(
        problems,
        spec.session_affinity.as_deref(),
        spec.internal_traffic_policy.as_deref(),
        &spec.ip_families,
    );
}

/// Properties that ResourceExports have as well.
pub(crate) fn check_properties(
    problems: &mut Problems,
    session_affinity: Option<&str>,
    internal_traffic_policy: Option<&str>,
    ip_families: &[String],
) {
    problems.check(
        "sessionAffinity",
        session_affinity.and_then(|word| values::one_of(word, &["None", "ClientIP"])),
    );
    problems.check_each("ipFamilies", ip_families, |word| values::one_of(word, &["IPv4", "IPv6"]));
    problems.check(
        "internalTrafficPolicy",
        internal_traffic_policy.and_then(|word| values::one_of(word, &["Cluster", "Local"])),
    );
}

//! CRDs of Antrea that are there already: Helm takes over none that is not its release's own.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::check::verdict::{Finding, Verdict};

/// Of core Antrea. Multi-cluster's have a chart of their own.
const GROUP: &str = ".crd.antrea.io";

pub(super) fn judge(crds: &[ObjectMeta]) -> Verdict {
    let mut ours: Vec<(&str, Option<String>)> = crds
        .iter()
        .filter_map(|meta| Some((meta.name.as_deref()?, release(meta))))
        .filter(|(name, _)| name.ends_with(GROUP))
        .collect();
    ours.sort();
    let foreign = ours.iter().filter(|(_, release)| release.is_none());
    let finding = |(name, _): &(&str, Option<String>)| {
        Finding::new(
            format!("CustomResourceDefinition {name} is there already"),
            "it does not belong to a release of Helm, as after `kubectl apply` of upstream's manifest: `helm install` \
             would refuse to take it over",
            "install with `helm install --take-ownership` (Helm 3.17 or later), which keeps the CRDs and their objects",
        )
    };
    let mut releases: Vec<&String> = ours.iter().filter_map(|(_, release)| release.as_ref()).collect();
    releases.dedup();
    let notes = match releases.as_slice() {
        [] => Vec::new(),
        all => {
            all.iter().map(|release| format!("CRDs of Antrea belong to Helm's release {release}")).collect()
        }
    };
    Verdict::of(foreign.map(finding).collect(), notes)
}

/// `NAME in Namespace NAMESPACE`
fn release(meta: &ObjectMeta) -> Option<String> {
    let by_helm = meta.labels.as_ref()?.get("app.kubernetes.io/managed-by").is_some_and(|by| by == "Helm");
    let annotations = meta.annotations.as_ref()?;
    let name = annotations.get("meta.helm.sh/release-name")?;
    let namespace = annotations.get("meta.helm.sh/release-namespace")?;
    by_helm.then(|| format!("{name} in Namespace {namespace}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn crd(name: &str, release: Option<&str>) -> ObjectMeta {
        let annotations = release.map(|release| {
            json!({ "meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": "kube-system" })
        });
        let labels = release.map(|_| json!({ "app.kubernetes.io/managed-by": "Helm" }));
        serde_json::from_value(json!({ "name": name, "labels": labels, "annotations": annotations })).unwrap()
    }

    #[test]
    fn crds_of_a_release_stay_its_own() {
        let verdict = judge(&[
            crd("tiers.crd.antrea.io", Some("antrea")),
            crd("egresses.crd.antrea.io", Some("antrea")),
        ]);
        let note = "CRDs of Antrea belong to Helm's release antrea in Namespace kube-system";
        assert_eq!(verdict, Verdict::Passed(vec![note.to_owned()]));
    }

    #[test]
    fn crds_of_nobody_are_named_and_other_products_crds_are_not() {
        let Verdict::Failed(findings) =
            judge(&[crd("tiers.crd.antrea.io", None), crd("a.example.com", None)])
        else {
            panic!("it passed")
        };
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].what, "CustomResourceDefinition tiers.crd.antrea.io is there already");
    }
}

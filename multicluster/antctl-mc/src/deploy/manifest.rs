//! Manifests: those that come with antctl-mc, and what is in them for a Namespace.

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use kube::api::DynamicObject;

/// The part that a cluster gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Leader,
    Member,
}

impl Part {
    /// The manifest of this version.
    pub(crate) const fn manifest(self) -> &'static str {
        match self {
            Self::Leader => include_str!("../../manifests/antrea-multicluster-leader.yml"),
            Self::Member => include_str!("../../manifests/antrea-multicluster-member.yml"),
        }
    }

    /// The Namespace that manifests are written for, upstream's too.
    pub(crate) const fn usual_namespace(self) -> &'static str {
        match self {
            Self::Leader => "antrea-multicluster",
            Self::Member => "kube-system",
        }
    }
}

/// The objects of a manifest, for `namespace` instead of the usual one. Its name is replaced wherever it stands: names of
/// objects without Namespace begin with it, and webhooks and configuration name it, too.
///
/// # Errors
/// When the text is no manifest, or has nothing for either Namespace.
pub(crate) fn objects(part: Part, text: &str, namespace: &str) -> Result<Vec<DynamicObject>> {
    let text = text.replace(part.usual_namespace(), namespace);
    let documents: Vec<Option<DynamicObject>> =
        serde_saphyr::from_multiple(&text).context("this is no manifest of Kubernetes")?;
    let objects: Vec<DynamicObject> = documents.into_iter().flatten().collect();
    for (index, object) in objects.iter().enumerate() {
        ensure!(
            object.types.is_some() && object.metadata.name.is_some(),
            "object {} of the manifest has no apiVersion, kind or name",
            index + 1
        );
    }
    ensure!(
        objects.iter().any(|object| object.namespace().as_deref() == Some(namespace)),
        "the manifest has nothing for Namespace {} or {namespace}: is it that of a {part:?}?",
        part.usual_namespace()
    );
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let objects = objects(Part::Leader, text, "mc");
        let names = |objects: Vec<DynamicObject>| {
            let name = |object: &DynamicObject| {
                format!("{}/{}", object.namespace().unwrap_or_default(), object.name_any())
            };
            objects.iter().map(name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(objects.map_or_else(|error| format!("{error:#}"), names), expected);
    }

    #[test]
    fn a_manifest_is_for_the_namespace_that_is_wanted() {
        check(
            "# A comment.\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: antrea-multicluster}}\n\
             ---\n---\n{apiVersion: v1, kind: ClusterRole, metadata: {name: antrea-multicluster-b}}",
            "mc/a /mc-b",
        );
        check("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: mc}}", "mc/a");
    }

    #[test]
    fn what_is_no_manifest_for_it_is_refused() {
        check(
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: kube-system}}",
            "the manifest has nothing for Namespace antrea-multicluster or mc: is it that of a Leader?",
        );
        check("{metadata: {name: a}}", "object 1 of the manifest has no apiVersion, kind or name");
        check(
            "",
            "the manifest has nothing for Namespace antrea-multicluster or mc: is it that of a Leader?",
        );
        let error = objects(Part::Leader, "- a\n- b", "mc").unwrap_err();
        assert_eq!(error.to_string(), "this is no manifest of Kubernetes");
    }
}

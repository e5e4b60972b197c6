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

/// The Secret with a member's token that manifests are written for.
const TOKEN_SECRET: &str = "antrea-mc-leader-token";
/// The agents of core Antrea, which is installed apart from this.
const AGENT: &str = "system:serviceaccount:kube-system:antrea-agent";

/// What a manifest is for, instead of what it was written for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) namespace: &'a str,
    /// The Secret with the token, where not the usual one.
    pub(crate) token_secret: Option<&'a str>,
}

/// The objects of a manifest, for this Namespace and Secret instead of the usual ones. Their names are replaced wherever
/// they stand: names of objects without Namespace begin with it, and webhooks, rights and configuration name them, too.
/// Agents stay where they are.
///
/// # Errors
/// When the text is no manifest, or has nothing for either Namespace.
pub(crate) fn objects(part: Part, text: &str, place: Place<'_>) -> Result<Vec<DynamicObject>> {
    let Place { namespace, token_secret } = place;
    let moved = |text: &str| text.replace(part.usual_namespace(), namespace);
    let text = moved(text).replace(&moved(AGENT), AGENT);
    let text = text.replace(TOKEN_SECRET, token_secret.unwrap_or(TOKEN_SECRET));
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

    const MC: Place<'static> = Place { namespace: "mc", token_secret: None };

    /// What the manifest of a member says of its Secret, with these values.
    fn secrets_of_a_member(token_secret: Option<&str>) -> Vec<String> {
        let place = Place { token_secret, ..MC };
        let objects = objects(Part::Member, Part::Member.manifest(), place).unwrap();
        let find = |kind: &str, name: &str| {
            let is = |object: &&DynamicObject| {
                object.types.as_ref().is_some_and(|types| types.kind == kind) && object.name_any() == name
            };
            objects.iter().find(is).unwrap().data.clone()
        };
        let role = find("Role", "antrea-mc-controller");
        let rules = role["rules"].as_array().unwrap().iter();
        let of_secrets = rules.filter(|rule| rule["resources"][0] == "secrets");
        let mut names: Vec<String> =
            of_secrets.map(|rule| rule["resourceNames"][0].as_str().unwrap_or("all").to_owned()).collect();
        let map = find("ConfigMap", "antrea-mc-controller-config");
        let file = map["data"]["controller_manager_config.yaml"].as_str().unwrap();
        let configured = file.lines().find_map(|line| line.trim().strip_prefix("tokenSecret: "));
        names.push(configured.unwrap_or_default().to_owned());
        names
    }

    #[test]
    fn the_controller_of_a_member_may_read_the_secret_that_its_cluster_set_names() {
        let usual = "antrea-mc-leader-token";
        assert_eq!(secrets_of_a_member(None), ["antrea-mc-webhook-ca", usual, usual]);
        assert_eq!(secrets_of_a_member(Some("tok5")), ["antrea-mc-webhook-ca", "tok5", "tok5"]);
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let objects = objects(Part::Leader, text, MC);
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
        let error = objects(Part::Leader, "- a\n- b", MC).unwrap_err();
        assert_eq!(error.to_string(), "this is no manifest of Kubernetes");
    }
}

//! Credential: the Secret that the ClusterSet names is the one that the controller may read.

use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use kube::ResourceExt;

use super::finding::Finding;
use crate::controller_config::{ControllerConfig, upgrade_command};

const CHECK: &str = "credential";
/// The Secret that charts and manifests name where nobody says another one.
const USUAL: &str = "antrea-mc-leader-token";

/// Nothing where the controller is not of ours, or of a version before, and loses nothing when it is upgraded.
pub(crate) fn check(set: &ClusterSet, config: Option<&ControllerConfig>) -> Option<Finding> {
    let namespace = set.namespace().unwrap_or_default();
    let named = set.spec.leaders.first().map(|leader| leader.secret.as_str()).unwrap_or_default();
    match config?.token_secret() {
        Some(readable) if readable == named => Some(Finding::passed(
            CHECK,
            format!("Secret {namespace}/{named} is the one that the controller may read"),
        )),
        Some(readable) => Some(Finding::failed(
            CHECK,
            format!("the ClusterSet names Secret {named}, and the controller may read {readable} alone"),
            format!("run \"{}\", or name {readable} in the ClusterSet", upgrade_command(&namespace, named)),
        )),
        None if named == USUAL => None,
        None => Some(Finding::skipped(
            CHECK,
            format!(
                "the controller may read all Secrets of Namespace {namespace}; helm finds {named} when it upgrades it. Who \
                 renders the chart without the cluster sets controller.member.tokenSecret={named}"
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::text;
    use super::*;

    fn said(config: &str) -> String {
        let set = serde_saphyr::from_str(
            "{metadata: {name: cs1, namespace: kube-system}, spec: {clusterID: c5, leaders: [{secret: tok5}]}}",
        );
        let config = ControllerConfig::parse(config);
        text(&check(&set.unwrap(), config.as_ref()).into_iter().collect::<Vec<_>>())
    }

    #[test]
    fn a_secret_that_the_controller_may_not_read_is_told_with_what_mends_it() {
        insta::assert_snapshot!(said("member: {tokenSecret: antrea-mc-leader-token}"), @r#"
        credential: FAILED: the ClusterSet names Secret tok5, and the controller may read antrea-mc-leader-token alone
          run "helm upgrade RELEASE CHART -n kube-system --reuse-values --set controller.member.tokenSecret=tok5", or name antrea-mc-leader-token in the ClusterSet
        "#);
        assert_eq!(
            said("member: {tokenSecret: tok5}"),
            "credential: passed: Secret kube-system/tok5 is the one that the controller may read\n"
        );
    }

    #[test]
    fn before_an_upgrade_it_is_told_what_a_rendered_chart_has_to_name() {
        let text = said("member: {tokenLifetime: 168h}");
        assert!(text.ends_with("sets controller.member.tokenSecret=tok5\n"), "{text}");
    }
}

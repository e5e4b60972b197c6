//! What lets a member into the Common Area: a ServiceAccount that is bound to the cluster's ID, and its rights.

use std::time::Duration;

use antrea_shared_api::multicluster::well_known::annotation::{
    CLUSTER_ID, GATEWAYS, NETWORKS, TOKEN_LIFETIME,
};
use anyhow::{Result, bail};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding, RoleRef, Subject};
use kube::ResourceExt;

use super::made_by_antctl;

/// The Role of members, which comes with the leader's installation.
const MEMBER_ROLE: &str = "antrea-mc-member-cluster-role";
const RBAC: &str = "rbac.authorization.k8s.io";
/// The annotation that ties a Secret to the ServiceAccount whose token it is to get.
const SERVICE_ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
/// Secrets of this type get a token that never expires.
pub(crate) const TOKEN_SECRET: &str = "kubernetes.io/service-account-token";

/// A member that is to be let in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemberToken<'a> {
    /// Of the ServiceAccount, and of what belongs to it.
    pub(crate) name: &'a str,
    /// The Common Area.
    pub(crate) namespace: &'a str,
    pub(crate) cluster_id: &'a str,
    /// The networks that it may have, joined by commas; private ones without.
    pub(crate) networks: Option<&'a str>,
    /// Where its Gateways may be, joined by commas.
    pub(crate) gateways: Option<&'a str>,
    /// How long the tokens last that it asks for, where not as the leader's configuration says.
    pub(crate) token_lifetime: Option<Duration>,
}

impl MemberToken<'_> {
    pub(crate) fn service_account(self) -> ServiceAccount {
        let mut metadata = made_by_antctl(self.namespace, self.name);
        let annotations = metadata.annotations.get_or_insert_default();
        annotations.insert(CLUSTER_ID.to_owned(), self.cluster_id.to_owned());
        annotations.extend(self.networks.map(|networks| (NETWORKS.to_owned(), networks.to_owned())));
        annotations.extend(self.gateways.map(|gateways| (GATEWAYS.to_owned(), gateways.to_owned())));
        annotations.extend(self.lifetime_annotation().map(|lifetime| (TOKEN_LIFETIME.to_owned(), lifetime)));
        ServiceAccount { metadata, ..ServiceAccount::default() }
    }

    /// As the annotation of the ServiceAccount has it.
    pub(crate) fn lifetime_annotation(self) -> Option<String> {
        self.token_lifetime.map(|lifetime| format!("{}s", lifetime.as_secs()))
    }

    /// The rights of all members.
    pub(crate) fn role_binding(self) -> RoleBinding {
        self.binding(self.name, MEMBER_ROLE)
    }

    /// The right to renew the own token, and no other.
    pub(crate) fn renewal_role(self) -> Role {
        let rule = PolicyRule {
            api_groups: Some(vec![String::new()]),
            resources: Some(vec!["serviceaccounts/token".to_owned()]),
            resource_names: Some(vec![self.name.to_owned()]),
            verbs: vec!["create".to_owned()],
            ..PolicyRule::default()
        };
        Role { metadata: made_by_antctl(self.namespace, &renewal_name(self.name)), rules: Some(vec![rule]) }
    }

    pub(crate) fn renewal_binding(self) -> RoleBinding {
        let name = renewal_name(self.name);
        self.binding(&name, &name)
    }

    fn binding(self, name: &str, role: &str) -> RoleBinding {
        let subject = Subject {
            kind: "ServiceAccount".to_owned(),
            name: self.name.to_owned(),
            namespace: Some(self.namespace.to_owned()),
            ..Subject::default()
        };
        RoleBinding {
            metadata: made_by_antctl(self.namespace, name),
            role_ref: RoleRef { api_group: RBAC.to_owned(), kind: "Role".to_owned(), name: role.to_owned() },
            subjects: Some(vec![subject]),
        }
    }

    /// What Kubernetes writes a token into that never expires.
    pub(crate) fn secret(self) -> Secret {
        let mut metadata = made_by_antctl(self.namespace, self.name);
        let annotations = metadata.annotations.get_or_insert_default();
        annotations.insert(SERVICE_ACCOUNT_NAME.to_owned(), self.name.to_owned());
        Secret { metadata, type_: Some(TOKEN_SECRET.to_owned()), ..Secret::default() }
    }
}

/// The name of the Role, and of its binding, by which a member renews its token.
pub(crate) fn renewal_name(name: &str) -> String {
    format!("{name}-renew")
}

/// Asks for a token that expires.
pub(crate) fn token_request(lifetime: Duration) -> TokenRequest {
    let seconds = i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX);
    let spec = TokenRequestSpec { expiration_seconds: Some(seconds), ..TokenRequestSpec::default() };
    TokenRequest { spec, ..TokenRequest::default() }
}

/// The member that a ServiceAccount belongs to.
pub(crate) fn member(account: &ServiceAccount) -> Option<&str> {
    account.annotations().get(CLUSTER_ID).map(String::as_str)
}

/// The networks that a ServiceAccount binds to its member; nothing where it binds none.
pub(crate) fn bound_networks(account: &ServiceAccount) -> Option<&str> {
    account.annotations().get(NETWORKS).map(String::as_str)
}

/// Whether a ServiceAccount has to be made for the member, among those that are there.
///
/// # Errors
/// When the ID or the name belongs to somebody else. IDs of which one is the other with a dash and more behind it are
/// refused as upstream's leaders refuse them: names of objects would not tell the members apart.
pub(crate) fn is_new(wanted: MemberToken<'_>, accounts: &[ServiceAccount]) -> Result<bool> {
    let MemberToken { name, namespace, cluster_id, .. } = wanted;
    let own = accounts.iter().find(|account| account.name_any() == name);
    match own.map(member) {
        Some(Some(other)) if other != cluster_id => bail!(
            "ServiceAccount {name:?} in Namespace {namespace} belongs to cluster {other:?}: choose another name"
        ),
        Some(None) => bail!(
            "ServiceAccount {name:?} in Namespace {namespace} is there already, and belongs to no cluster: choose another name"
        ),
        _ => {}
    }
    let others = accounts.iter().filter(|account| account.name_any() != name);
    for (other, account) in others.filter_map(|account| Some((member(account)?, account.name_any()))) {
        if other == cluster_id {
            bail!(
                "cluster ID {cluster_id:?} is bound to ServiceAccount {account:?} already: use its token, or run \"antctl mc delete membertoken {account} -n {namespace}\" first"
            );
        }
        if are_prefix_pair(other, cluster_id) {
            bail!(
                "cluster ID {cluster_id:?} conflicts with the ClusterID {other:?} bound to ServiceAccount {account:?}: the IDs form a dash-delimited prefix pair; rename one of the two members"
            );
        }
    }
    Ok(own.is_none())
}

fn are_prefix_pair(a: &str, b: &str) -> bool {
    let begins = |long: &str, short: &str| long.strip_prefix(short).is_some_and(|rest| rest.starts_with('-'));
    begins(a, b) || begins(b, a)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOK5: MemberToken<'static> = MemberToken {
        name: "tok5",
        namespace: "antrea-multicluster",
        cluster_id: "c5",
        networks: None,
        gateways: None,
        token_lifetime: None,
    };

    fn yaml(objects: &[String]) -> String {
        objects.join("---\n")
    }

    fn text(object: &impl serde::Serialize) -> String {
        serde_saphyr::to_string(object).unwrap()
    }

    #[test]
    fn a_member_gets_the_objects_of_upstream() {
        let objects = [text(&TOK5.service_account()), text(&TOK5.role_binding()), text(&TOK5.secret())];
        insta::assert_snapshot!(yaml(&objects));
    }

    #[test]
    fn a_member_with_long_tokens_may_ask_for_as_long_ones() {
        let long = MemberToken { token_lifetime: Some(Duration::from_secs(30 * 24 * 3600)), ..TOK5 };
        let annotations = long.service_account().metadata.annotations.unwrap();
        assert_eq!(annotations["multicluster.antrea.io/token-lifetime"], "2592000s");
    }

    #[test]
    fn a_member_may_renew_its_own_token_alone() {
        insta::assert_snapshot!(yaml(&[text(&TOK5.renewal_role()), text(&TOK5.renewal_binding())]));
    }

    #[track_caller]
    fn check(name: &str, cluster_id: &str, expected: &str) {
        let mut stranger = TOK5.service_account();
        stranger.metadata.name = Some("default".to_owned());
        stranger.metadata.annotations = None;
        let accounts = [TOK5.service_account(), stranger];
        let wanted = MemberToken { name, cluster_id, ..TOK5 };
        let text = is_new(wanted, &accounts).map_or_else(|error| error.to_string(), |new| new.to_string());
        assert_eq!(text, expected);
    }

    #[test]
    fn each_member_has_one_service_account_of_its_own() {
        check("tok6", "c6", "true");
        check("tok5", "c5", "false");
        check("tok6", "c50", "true");
        check(
            "tokdup",
            "c5",
            "cluster ID \"c5\" is bound to ServiceAccount \"tok5\" already: use its token, or run \"antctl mc delete membertoken tok5 -n antrea-multicluster\" first",
        );
        check(
            "tok5",
            "c6",
            "ServiceAccount \"tok5\" in Namespace antrea-multicluster belongs to cluster \"c5\": choose another name",
        );
        check(
            "default",
            "c6",
            "ServiceAccount \"default\" in Namespace antrea-multicluster is there already, and belongs to no cluster: choose another name",
        );
    }

    #[test]
    fn ids_that_names_cannot_tell_apart_are_refused_in_upstreams_words() {
        check(
            "tokdup",
            "c5-1",
            "cluster ID \"c5-1\" conflicts with the ClusterID \"c5\" bound to ServiceAccount \"tok5\": the IDs form a dash-delimited prefix pair; rename one of the two members",
        );
        check("tokdup", "c", "true");
    }
}

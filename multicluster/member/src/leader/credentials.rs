//! What a ClusterSet and its Secret say of the way to the leader.

use std::fmt;

use antrea_mc_core::ids::ClusterId;
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use antrea_shared_api::validation::values;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use serde_json::Value;

use super::leaving::held;
use crate::kind::Kind;
use crate::objects::{Key, Objects, is_leaving, read, text};

/// What of a Secret proves who the member is, and who the leader is.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The certificates that vouch for the leader's API server, PEM; those of the machine where there is none.
    pub ca: Option<Vec<u8>>,
    /// The token of the member's ServiceAccount.
    pub token: String,
}

/// Nobody's log has the token.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

impl Credentials {
    /// When the token expires; nothing where it does not, or where it does not say.
    pub fn expire(&self) -> Option<Timestamp> {
        time(&self.claims()?, "exp")
    }

    /// What renewing the token takes; nothing where it does not expire, as upstream's, or does not say whose it is.
    pub fn renewable(&self) -> Option<Renewable> {
        let claims = self.claims()?;
        let subject = text(&claims, "/sub").strip_prefix("system:serviceaccount:")?;
        let (namespace, account) = subject.split_once(':')?;
        Some(Renewable {
            namespace: namespace.to_owned(),
            account: account.to_owned(),
            issued: time(&claims, "iat")?,
            expire: time(&claims, "exp")?,
        })
    }

    /// What the token says of itself (RFC 7519). Who may do what, the leader decides.
    fn claims(&self) -> Option<Value> {
        let claims = self.token.split('.').nth(1)?;
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()
    }
}

fn time(claims: &Value, name: &str) -> Option<Timestamp> {
    Timestamp::from_second(claims.get(name)?.as_i64()?).ok()
}

/// A token that expires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewable {
    /// The Namespace of its ServiceAccount at the leader.
    pub namespace: String,
    /// The name of its ServiceAccount.
    pub account: String,
    /// When its life began.
    pub issued: Timestamp,
    /// When it ends.
    pub expire: Timestamp,
}

/// The leader that a ClusterSet names, and the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The ID of the ClusterSet.
    pub set: String,
    /// This cluster.
    pub cluster: ClusterId,
    /// The leader.
    pub leader: String,
    /// The URL of the leader's API server.
    pub server: String,
    /// The Namespace of the Common Area.
    pub area: String,
    /// The Secret.
    pub secret: String,
    /// What is in it.
    pub credentials: Credentials,
}

impl Target {
    /// Whether another is the same Common Area, to which another way may lead: another address, or another token. The ID
    /// of the leader never changes in a ClusterSet.
    pub fn is_same_area(&self, other: &Self) -> bool {
        (&self.set, &self.cluster, &self.leader, &self.area)
            == (&other.set, &other.cluster, &other.leader, &other.area)
    }

    /// The command that, in the leader cluster, makes a token for this one, and the right to renew it. Nothing where the token,
    /// which comes from the leader, has another word in the place of a name: somebody may paste the command into a shell.
    pub fn token_command(&self) -> Option<String> {
        let token = self.credentials.renewable();
        let account = token.as_ref().map_or(&self.secret, |token| &token.account);
        let (cluster, area) = (&self.cluster, &self.area);
        let are_names = values::dns_subdomain(account).is_none() && values::dns_label(area).is_none();
        are_names.then(|| format!("antctl mc create membertoken {account} --cluster-id {cluster} -n {area}"))
    }
}

/// What the objects of the cluster want.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// No ClusterSet.
    Leave,
    /// To be a member.
    Join(Target),
    /// To be a member, but something is missing.
    Incomplete {
        /// This cluster, if the ClusterSet says which it is.
        cluster: Option<ClusterId>,
        /// The Namespace of the Common Area; empty where the ClusterSet does not say.
        area: String,
        /// What is missing.
        why: String,
    },
}

/// Credentials of a ClusterSet that are not used, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// In one word.
    pub reason: &'static str,
    /// In a sentence, with what mends it.
    pub message: String,
}

/// Why what the ClusterSet of `namespace` and its Secret say now is not used, if it is not: it makes no connection, because
/// of `no_way`, or the configuration names another Secret.
pub fn unusable(
    objects: &Objects,
    namespace: &str,
    configured: Option<&str>,
    no_way: Option<&str>,
) -> Option<Unusable> {
    let (_, set) = set_of(objects, namespace)?;
    let named = text(set, NAMED);
    let another = configured.and_then(|configured| another_secret(namespace, configured, named));
    match (no_way.map(|why| unreadable(configured.unwrap_or(named), why)), another) {
        (Some(Unusable { reason, message }), Some(another)) => {
            Some(Unusable { reason, message: format!("{message}; {}", another.message) })
        }
        (unreadable, another) => unreadable.or(another),
    }
}

fn unreadable(secret: &str, why: &str) -> Unusable {
    let message = format!(
        "spec.leaders[0] and Secret {secret} cannot be used, and the previous connection stays in use: {why}"
    );
    Unusable { reason: "Unreadable", message }
}

fn another_secret(namespace: &str, configured: &str, named: &str) -> Option<Unusable> {
    if named.is_empty() || named == configured {
        return None;
    }
    let message = format!(
        "spec.leaders[0].secret is {named}, and the controller may read Secret {configured} alone, which it uses: name \
         that one, or run `helm upgrade RELEASE CHART -n {namespace} --reuse-values --set \
         controller.member.tokenSecret={named}`"
    );
    Some(Unusable { reason: "AnotherSecret", message })
}

/// The Secret that is read: the one that the configuration names, else that of the ClusterSet, also while this cluster leaves.
pub(crate) fn secret_name(objects: &Objects, namespace: &str, configured: Option<&str>) -> Option<String> {
    let set = || set_of(objects, namespace).or_else(|| held(objects, namespace));
    let of_set = || set().map(|(_, set)| text(set, NAMED)).filter(|name| !name.is_empty());
    configured.or_else(of_set).map(str::to_owned)
}

/// Where a ClusterSet names its Secret.
const NAMED: &str = "/spec/leaders/0/secret";

/// The ClusterSet of a Namespace: the first one by name.
fn set_of<'a>(objects: &'a Objects, namespace: &str) -> Option<(&'a Key, &'a Value)> {
    objects.all(Kind::ClusterSet).find(|(key, set)| key.namespace == namespace && !is_leaving(set))
}

/// Reads the ClusterSet of `namespace` and its Secret, or the one that the configuration names; nothing before that much is
/// known.
pub fn wish(objects: &Objects, namespace: &str, configured: Option<&str>) -> Option<Wish> {
    if !objects.has_listed(Kind::ClusterSet) {
        return None;
    }
    let Some((key, set)) = set_of(objects, namespace) else { return Some(Wish::Leave) };
    if secret_name(objects, namespace, configured).is_some() && !objects.has_listed(Kind::Secret) {
        return None;
    }
    let Some(set) = read::<ClusterSet>(set) else {
        let why = format!("{key} cannot be read");
        return Some(Wish::Incomplete { cluster: None, area: String::new(), why });
    };
    let area = set.spec.namespace.clone();
    Some(match set.spec.cluster_id.parse::<ClusterId>() {
        Err(error) => Wish::Incomplete { cluster: None, area, why: format!("spec.clusterID: {error}") },
        Ok(cluster) => match target(objects, key, &set, &cluster, configured) {
            Ok(target) => Wish::Join(target),
            Err(why) => Wish::Incomplete { cluster: Some(cluster), area, why },
        },
    })
}

pub(super) fn target(
    objects: &Objects,
    key: &Key,
    set: &ClusterSet,
    cluster: &ClusterId,
    configured: Option<&str>,
) -> Result<Target, String> {
    let leader = set.spec.leaders.first().ok_or("spec.leaders is empty; name the leader")?;
    for (field, value) in [
        ("leaders[0].clusterID", &leader.cluster_id),
        ("leaders[0].server", &leader.server),
        ("leaders[0].secret", &leader.secret),
        ("namespace", &set.spec.namespace),
    ] {
        if value.is_empty() {
            return Err(format!("spec.{field} is missing; a member needs it"));
        }
    }
    let name = configured.unwrap_or(&leader.secret);
    let credentials = credentials(objects, &Key::new(Kind::Secret, &key.namespace, name));
    let another = another_secret(&key.namespace, name, &leader.secret);
    let credentials = credentials.map_err(|missing| match another {
        Some(another) => format!("{missing}; {}", another.message),
        None => missing,
    })?;
    Ok(Target {
        set: key.name.clone(),
        cluster: cluster.clone(),
        leader: leader.cluster_id.clone(),
        server: leader.server.clone(),
        area: set.spec.namespace.clone(),
        secret: name.to_owned(),
        credentials,
    })
}

fn credentials(objects: &Objects, key: &Key) -> Result<Credentials, String> {
    let secret = objects.get(key).and_then(read::<Secret>);
    let mut data = secret.ok_or_else(|| format!("there is no {key}"))?.data.unwrap_or_default();
    let token = data.remove("token").map(|token| token.0).unwrap_or_default();
    let token = String::from_utf8(token).unwrap_or_default().trim().to_owned();
    if token.is_empty() {
        return Err(format!(
            "{key} has no token; `antctl mc create membertoken` in the leader cluster makes one"
        ));
    }
    Ok(Credentials { ca: data.remove("ca.crt").map(|ca| ca.0), token })
}

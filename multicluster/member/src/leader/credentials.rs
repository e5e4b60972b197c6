//! What a ClusterSet and its Secret say of the way to the leader.

use std::fmt;

use antrea_mc_core::ids::ClusterId;
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use serde_json::Value;

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

    /// The command that, in the leader cluster, makes a token for this one, and the right to renew it.
    pub fn token_command(&self) -> String {
        let token = self.credentials.renewable();
        let account = token.as_ref().map_or(&self.secret, |token| &token.account);
        let (cluster, area) = (&self.cluster, &self.area);
        format!("antctl mc create membertoken {account} --cluster-id {cluster} -n {area}")
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

/// Reads the ClusterSet of `namespace`, the first one by name, and its Secret; nothing before both kinds are known.
pub fn wish(objects: &Objects, namespace: &str) -> Option<Wish> {
    if !objects.has_listed(Kind::ClusterSet) || !objects.has_listed(Kind::Secret) {
        return None;
    }
    let sets = objects.all(Kind::ClusterSet);
    let mut sets = sets.filter(|(key, set)| key.namespace == namespace && !is_leaving(set));
    let Some((key, set)) = sets.next() else { return Some(Wish::Leave) };
    let Some(set) = read::<ClusterSet>(set) else {
        let why = format!("{key} cannot be read");
        return Some(Wish::Incomplete { cluster: None, area: String::new(), why });
    };
    let area = set.spec.namespace.clone();
    Some(match set.spec.cluster_id.parse::<ClusterId>() {
        Err(error) => Wish::Incomplete { cluster: None, area, why: format!("spec.clusterID: {error}") },
        Ok(cluster) => match target(objects, key, &set, &cluster) {
            Ok(target) => Wish::Join(target),
            Err(why) => Wish::Incomplete { cluster: Some(cluster), area, why },
        },
    })
}

fn target(objects: &Objects, key: &Key, set: &ClusterSet, cluster: &ClusterId) -> Result<Target, String> {
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
    let secret = Key::new(Kind::Secret, &key.namespace, &leader.secret);
    Ok(Target {
        set: key.name.clone(),
        cluster: cluster.clone(),
        leader: leader.cluster_id.clone(),
        server: leader.server.clone(),
        area: set.spec.namespace.clone(),
        secret: leader.secret.clone(),
        credentials: credentials(objects, &secret)?,
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

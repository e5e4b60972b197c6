//! The status of a member's ClusterSet, in the words of upstream.

use antrea_shared_api::multicluster::condition_type;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Class, Fault, Unusable};
use crate::condition::{Condition, written};
use crate::objects::{at, text};

/// Another cluster is the member of our ID.
const DUPLICATE_CLUSTER_ID: &str = "DuplicateClusterID";
/// The ClusterSet is being deleted.
const LEAVING: &str = "Leaving";

/// How heartbeats fare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// The leader has not answered yet.
    Connecting,
    /// It has taken the last heartbeat.
    Connected,
    /// It cannot be reached, or refuses us, because of this.
    Disconnected(Fault),
    /// It refuses us: another cluster is the member of our ID.
    Taken(String),
    /// The token has expired.
    Expired {
        /// When it did.
        since: Timestamp,
        /// The Secret that it is in.
        secret: String,
        /// What makes a new one, if there is a command for that.
        command: Option<String>,
    },
}

impl Link {
    /// Why the leader cannot be asked; nothing where it can, or where nobody has tried.
    pub fn fault(&self) -> Option<Class> {
        match self {
            Self::Connecting | Self::Connected => None,
            Self::Disconnected(fault) => Some(fault.class().clone()),
            Self::Taken(why) => Some(Class::NoWay(why.clone())),
            Self::Expired { since, secret, .. } => {
                Some(Class::NoWay(format!("the token in Secret {secret} expired at {since}")))
            }
        }
    }
}

/// What a ClusterSet says.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// How heartbeats fare.
    pub link: &'a Link,
    /// Why the token cannot be renewed.
    pub not_renewed: Option<&'a str>,
    /// Why what ClusterSet and Secret say now is not used.
    pub unusable: Option<&'a Unusable>,
    /// What the leader said last of this cluster.
    pub told: &'a [Condition],
    /// How far this cluster has come with leaving, if it does.
    pub leaving: Option<&'a str>,
}

/// The status of a ClusterSet.
pub fn status(set: &Value, said: &Said<'_>, leader: &str, now: Timestamp) -> Value {
    let Said { link, not_renewed, unusable, told, leaving } = *said;
    let before = |pointer: &str| at(set, pointer).and_then(Value::as_array).cloned().unwrap_or_default();
    let of_leader = before("/status/clusterStatuses")
        .into_iter()
        .find(|status| text(status, "/clusterID") == leader)
        .and_then(|status| status.get("conditions")?.as_array().cloned())
        .unwrap_or_default();
    let was_leader = of_leader.iter().any(|before| {
        text(before, "/type") == condition_type::IS_LEADER && text(before, "/status") == "True"
    });
    let is_leader = is_leader(*link == Link::Connected || was_leader);
    let (overall, connection) = leaving.map_or_else(|| conditions(link), left);
    let mut own = vec![overall];
    own.extend(expired(set, link, not_renewed));
    own.extend(unusable.map(|why| {
        Condition::new(condition_type::CREDENTIAL_UNUSABLE, "True", why.reason, why.message.as_str())
    }));
    match taken(link) {
        Some(taken) => own.push(taken),
        None => own.extend_from_slice(told),
    }
    let all = |existing: &[Value], wanted: &[Condition]| -> Value {
        wanted.iter().map(|condition| brief(written(existing, condition, now))).collect::<Vec<_>>().into()
    };
    json!({
        "totalClusters": 1,
        "readyClusters": (*link == Link::Connected).then_some(1),
        "observedGeneration": at(set, "/metadata/generation"),
        "conditions": all(&before("/status/conditions"), &own),
        "clusterStatuses": [{ "clusterID": leader, "conditions": all(&of_leader, &[connection, is_leader]) }],
    })
}

/// Of the whole, and of the leader.
fn conditions(link: &Link) -> (Condition, Condition) {
    let ready = |status: &str, reason: &str, message: &str| {
        Condition::new(condition_type::READY, status, reason, message)
    };
    match link {
        Link::Connecting => {
            (ready("Unknown", "", "Leader not yet connected"), ready("Unknown", "", "Leader cluster added"))
        }
        Link::Connected => (ready("True", "", ""), ready("True", "", "")),
        Link::Disconnected(_) | Link::Taken(_) | Link::Expired { .. } => {
            let why = link.fault().map(|fault| fault.to_string()).unwrap_or_default();
            (ready("False", "", "Disconnected from leader"), ready("False", "Disconnected", &why))
        }
    }
}

/// The same, of a ClusterSet that is being deleted.
fn left(how_far: &str) -> (Condition, Condition) {
    let ready = Condition::new(condition_type::READY, "False", LEAVING, how_far);
    (ready.clone(), ready)
}

/// Whether the leader has taken this cluster for a member, once at least.
fn is_leader(has_answered: bool) -> Condition {
    let (status, message) = if has_answered {
        ("True", "This leader cluster is the leader for local cluster")
    } else {
        ("False", "Leader cluster added")
    };
    Condition::new(condition_type::IS_LEADER, status, "", message)
}

/// Whether another cluster has our ID.
fn taken(link: &Link) -> Option<Condition> {
    let Link::Taken(why) = link else { return None };
    Some(Condition::new(condition_type::CONFLICT, "True", DUPLICATE_CLUSTER_ID, why))
}

/// Whether the token has expired, or is going to, and what mends it; nothing while nobody can tell.
fn expired(set: &Value, link: &Link, not_renewed: Option<&str>) -> Option<Condition> {
    let condition = |status: &str, reason: &str, message: String| {
        Some(Condition::new(condition_type::CREDENTIAL_EXPIRED, status, reason, message))
    };
    match link {
        Link::Connected => match not_renewed {
            None => condition("False", "TokenValid", String::new()),
            Some(why) => condition("False", "TokenNotRenewed", format!("The token cannot be renewed: {why}")),
        },
        Link::Expired { since, secret, command } => {
            let another = match command {
                Some(command) => format!("In the leader cluster run `{command} -o token.yaml`"),
                None => "Ask an admin of the leader for another one".to_owned(),
            };
            let join = join_command(set);
            let message = format!(
                "The token in Secret {secret} expired at {since}. {another}, then here `{join} --token-secret-file token.yaml`"
            );
            condition("True", "TokenExpired", message)
        }
        Link::Connecting | Link::Disconnected(_) | Link::Taken(_) => None,
    }
}

/// The command that, said once more, puts another token into the Secret, whatever that is called.
fn join_command(set: &Value) -> String {
    let of = |pointer| text(set, pointer);
    format!(
        "antctl mc join -n {} --clusterset {} --clusterid {} --leader-clusterid {} --leader-namespace {} \
         --leader-apiserver {}",
        of("/metadata/namespace"),
        of("/metadata/name"),
        of("/spec/clusterID"),
        of("/spec/leaders/0/clusterID"),
        of("/spec/namespace"),
        of("/spec/leaders/0/server")
    )
}

/// Upstream leaves out reasons and messages that are empty.
fn brief(mut condition: Value) -> Value {
    if let Some(fields) = condition.as_object_mut() {
        fields.retain(|_, value| value != "");
    }
    condition
}

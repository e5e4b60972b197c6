//! Requests of the leader as text.

use antrea_shared_api::multicluster::Condition;
use serde_json::Value;

use crate::action::Action;
use crate::change::Change;

/// A request, and what it writes.
pub(super) fn line(action: &Action) -> String {
    match action {
        Action::CreateImport(import) => {
            format!("{action} {}", short(&serde_json::to_value(&import.spec).unwrap()))
        }
        Action::ChangeImport(change) => format!("{action} {}", short(&change.patch)),
        Action::WriteExportStatus(change) => {
            format!("tell {}: {}", change.name, conditions(&change.wanted.conditions))
        }
        Action::WriteAnnounceStatus(change) => {
            let gateways = change.wanted.gateways.iter().map(|held| match held.former_since {
                None => format!(" Gateway {}", held.gateway_ip),
                Some(_) => format!(" former {}", held.gateway_ip),
            });
            let held = change.wanted.held_networks.iter().map(|network| format!(" held {network}"));
            let pods = change.wanted.pod_cidrs.iter().map(|network| format!(" Pods {network}"));
            let networks = change.wanted.networks.iter().map(|held| match held.former_since {
                None => format!(" has {}", held.cidr),
                Some(_) => format!(" had {}", held.cidr),
            });
            let written: String = gateways.chain(held).chain(pods).chain(networks).collect();
            let told = format!("tell {}:{written}", change.name);
            format!("{told} {}", conditions(&change.wanted.conditions)).trim_end().to_owned()
        }
        Action::WriteClusterSetStatus(Change { name, wanted, .. }) => {
            let members = wanted.cluster_statuses.iter();
            let members =
                members.map(|of| format!("\n    {}: {}", of.cluster_id, conditions(&of.conditions)));
            let (ready, total) = (wanted.ready_clusters, wanted.total_clusters);
            let members: String = members.collect();
            format!("ClusterSet {name}: {ready}/{total} {}{members}", conditions(&wanted.conditions))
        }
        _ => action.to_string(),
    }
}

/// JSON as YAML would have it on one line.
fn short(value: &Value) -> String {
    let list = |items: Vec<String>| items.join(", ");
    match value {
        Value::Object(map) => {
            format!(
                "{{{}}}",
                list(map.iter().map(|(name, value)| format!("{name}: {}", short(value))).collect())
            )
        }
        Value::Array(items) => format!("[{}]", list(items.iter().map(short).collect())),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn conditions(conditions: &[Condition]) -> String {
    let one = |of: &Condition| {
        let text = format!("{}={} {} {}", of.condition_type, of.status, of.reason, of.message);
        text.trim().to_owned()
    };
    conditions.iter().map(one).collect::<Vec<_>>().join(" | ")
}

//! Who is behind the Services: in B two Pods of a StatefulSet, which have hostnames, in C one without. Another one of C
//! never gets ready.

use std::net::Ipv4Addr;

use antrea_e2e::multicluster::cluster_set::Member;
use antrea_e2e::pods::netexec;
use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::service::{NAMESPACE, name_of};
use crate::multicluster::stage::Stage;

/// The StatefulSet in B, which begins the names of its Pods.
pub(super) const IN_B: &str = "server-b";
/// The Pod in C.
pub(super) const IN_C: &str = "server-c";

/// A Pod in C that never gets ready.
const NEVER_READY: &str = "never-ready";

/// The label of Pods that serve.
pub(super) const LABEL: &str = "server";
/// The label of Pods that have names in the headless Service, too.
pub(super) const NAMED: &str = "named";

/// A Pod that serves.
#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) pod: String,
    pub(super) ip: Ipv4Addr,
    /// In the headless Service that this is asked for.
    pub(super) name: String,
}

/// All of them, with their names in a headless Service: those of B in their order, then that of C.
pub(super) fn all(stage: &Stage, service: &str) -> Result<Vec<Server>> {
    let (b, c) = (stage.b()?, stage.c()?);
    let (first, second) = (format!("{IN_B}-0"), format!("{IN_B}-1"));
    let mut servers = Vec::new();
    for (member, pod) in [(b, first.as_str()), (b, second.as_str()), (c, IN_C)] {
        let ip = ip(member, pod)?;
        let hostname = if pod == IN_C { ip.to_string().replace('.', "-") } else { pod.to_owned() };
        let name = format!("{hostname}.{}.{}", member.id(), name_of(service));
        servers.push(Server { pod: pod.to_owned(), ip, name });
    }
    Ok(servers)
}

fn ip(member: &Member, pod: &str) -> Result<Ipv4Addr> {
    let ip = ["get", "pod", pod, "-n", NAMESPACE, "-o", "jsonpath={.status.podIP}"];
    let ip = member.kubectl.text(&ip)?;
    ip.parse().with_context(|| format!("the address of Pod {pod} is {ip:?}"))
}

/// The Pods of B; `service` is the headless Service that they have hostnames in.
pub(super) fn stateful_set(service: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": { "name": IN_B, "namespace": NAMESPACE },
        "spec": {
            "serviceName": service,
            "replicas": 2,
            "podManagementPolicy": "Parallel",
            "selector": { "matchLabels": { LABEL: "yes" } },
            "template": { "metadata": { "labels": labels() }, "spec": netexec() },
        },
    })
}

/// The Pods of C.
pub(super) fn pods() -> [Value; 2] {
    let mut never_ready = netexec();
    never_ready["readinessGates"] = json!([{ "conditionType": "example.com/never" }]);
    [pod(IN_C, &labels(), &netexec()), pod(NEVER_READY, &json!({ NAMED: "yes" }), &never_ready)]
}

fn pod(name: &str, labels: &Value, spec: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name, "namespace": NAMESPACE, "labels": labels },
        "spec": spec,
    })
}

fn labels() -> Value {
    json!({ LABEL: "yes", NAMED: "yes" })
}

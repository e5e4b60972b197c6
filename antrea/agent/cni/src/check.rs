//! CHECK: compares the result of ADD with store, OVSDB, addresses and kernel. It changes nothing.

use antrea_cni::error::CniError;
use antrea_cni::proto::ErrorCode;
use antrea_cni::version::CniVersion;

use crate::commands::Commands;
use crate::interface_store::StoredContainer;
use crate::prev_result::PrevResult;
use crate::request::AttachRequest;

impl Commands {
    pub(crate) async fn check(&self, request: &AttachRequest) -> Result<(), CniError> {
        request.config.version.require("CHECK", CniVersion::V0_4_0)?;
        let previous = PrevResult::parse(request.config.prev_result.clone())?;
        let _guard = self.locks.lock(&request.target.container_id).await;
        let Some(stored) = self.node.store.by_container(&request.target.owner()) else {
            let message = format!("container {} has no interface here", request.target.container_id);
            return Err(CniError::new(ErrorCode::UnknownContainer, message));
        };
        let mut problems = differences(&previous, &stored, &request.netns, &self.netns_path(request));
        problems.extend(self.missing(&stored).await?);
        let allocations = self.allocations_of(&stored);
        problems.extend(self.link_problems(&stored, &allocations, self.mtu(request)).await?);
        match problems.is_empty() {
            true => Ok(()),
            false => Err(CniError::new(
                ErrorCode::CheckInterfaceFailure,
                format!("interface {} of Pod {}: {}", stored.name, request.pod, problems.join("; ")),
            )),
        }
    }

    /// What OVSDB and IPAM state lack of an interface.
    pub(crate) async fn missing(&self, stored: &StoredContainer) -> Result<Vec<String>, CniError> {
        let mut problems = Vec::new();
        let database = self.node.ovsdb.snapshot();
        let here = database
            .bridge_of(stored.name.as_str())
            .is_some_and(|bridge| bridge.name == self.settings.bridge);
        let port = database.port(stored.name.as_str()).filter(|_| here);
        match port.map(|port| port.interface.of_port()) {
            None => problems.push(format!("bridge {} has no such port", self.settings.bridge)),
            Some(of_port) if of_port.is_none() || of_port != stored.of_port => {
                problems.push("its port does not have the number that its flows are for".to_owned());
            }
            Some(_) => {}
        }
        let (owner, ips) =
            (stored.container.owner(), stored.container.ips.iter().copied().collect::<Vec<_>>());
        let lost = self.with_ipam(|ipam| ipam.not_held_by(&owner, &ips)).await?;
        problems.extend(lost.iter().map(|ip| format!("address {ip} is not reserved for it")));
        Ok(problems)
    }
}

/// Where the result of ADD says something else than the store. Upstream wrote the namespace as the agent sees it.
fn differences(
    previous: &PrevResult,
    stored: &StoredContainer,
    netns: &str,
    netns_of_agent: &str,
) -> Vec<String> {
    let container = &stored.container;
    let in_pod = |sandbox: &str| sandbox == netns || sandbox == netns_of_agent;
    let pod_end = previous
        .interfaces
        .iter()
        .find(|interface| interface.name == container.interface.as_str() && in_pod(&interface.sandbox));
    let mut problems = Vec::new();
    match pod_end {
        None => problems.push(format!("prevResult has no {} in {netns}", container.interface)),
        Some(pod_end) if !pod_end.mac.eq_ignore_ascii_case(&container.mac.to_string()) => {
            problems
                .push(format!("prevResult has MAC address {:?} instead of {}", pod_end.mac, container.mac));
        }
        Some(_) => {}
    }
    if !previous.interfaces.iter().any(|end| end.sandbox.is_empty() && end.name == stored.name.as_str()) {
        problems.push(format!("prevResult has no {} on the Node", stored.name));
    }
    let lacking = container.ips.iter().filter(|ip| !previous.ips.iter().any(|net| net.addr() == **ip));
    problems.extend(lacking.map(|ip| format!("prevResult lacks address {ip}")));
    problems
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::interface::ContainerInterface;

    fn stored() -> StoredContainer {
        let container = ContainerInterface {
            pod: antrea_types::PodRef { namespace: "n".into(), name: "a".into() },
            pod_uid: None,
            container_id: "c".into(),
            interface: "eth0".parse().unwrap(),
            mac: "0a:00:00:00:00:01".parse().unwrap(),
            ips: ["10.0.0.2", "fd00::2"]
                .map(|ip| ip.parse::<std::net::IpAddr>().unwrap())
                .into_iter()
                .collect(),
            netns: "/host/n".into(),
        };
        StoredContainer { name: "a-84a516".parse().unwrap(), of_port: None, container }
    }

    fn check(result: serde_json::Value) -> Vec<String> {
        differences(&PrevResult::parse(Some(result)).unwrap(), &stored(), "/n", "/host/n")
    }

    #[test]
    fn results_of_ours_and_of_upstream_are_accepted() {
        for sandbox in ["/n", "/host/n"] {
            let result = json!({
                "interfaces": [{"name": "a-84a516"},
                    {"name": "eth0", "mac": "0A:00:00:00:00:01", "sandbox": sandbox}],
                "ips": [{"address": "10.0.0.2/24"}, {"address": "fd00::2/64"}],
            });
            assert_eq!(check(result), Vec::<String>::new());
        }
    }

    #[test]
    fn each_difference_is_named() {
        assert_eq!(
            check(
                json!({"interfaces": [{"name": "eth0", "mac": "", "sandbox": "/n"}], "ips": [{"address": "10.0.0.2/24"}]})
            ),
            [
                "prevResult has MAC address \"\" instead of 0a:00:00:00:00:01",
                "prevResult has no a-84a516 on the Node",
                "prevResult lacks address fd00::2",
            ]
        );
        assert_eq!(check(json!({}))[0], "prevResult has no eth0 in /n");
    }
}

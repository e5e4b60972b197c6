//! MTU: packets between clusters carry a tunnel's headers, and pass networks that nobody configured for them.

use serde::Deserialize;

use super::finding::Finding;

const CHECK: &str = "MTU";
/// What most paths between clusters carry.
const PATH: u32 = 1500;
/// The headers of a Geneve or VXLAN tunnel over IPv4.
const TUNNEL: u32 = 50;

/// The part of antrea-agent.conf that says how large packets are.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AgentConfig {
    #[serde(rename = "defaultMTU")]
    default_mtu: u32,
}

/// `config` is the text of antrea-agent.conf, where the cluster has one.
pub(crate) fn check(config: Option<&str>) -> Finding {
    let Some(config) = config else {
        return Finding::skipped(CHECK, "there is no antrea-agent.conf in ConfigMap antrea-config");
    };
    let mtu = match serde_saphyr::from_str::<AgentConfig>(config) {
        Ok(AgentConfig { default_mtu }) => default_mtu,
        Err(error) => {
            let cause = format!(
                "antrea-agent.conf cannot be read: {}",
                error.to_string().lines().next().unwrap_or_default()
            );
            return Finding::failed(CHECK, cause, "Correct ConfigMap antrea-config.");
        }
    };
    match mtu {
        0 => Finding::passed(CHECK, "agents take it from their Nodes, less the tunnel's headers"),
        mtu if mtu <= PATH - TUNNEL => {
            Finding::passed(CHECK, format!("defaultMTU {mtu} leaves room for the tunnel"))
        }
        mtu => Finding::failed(
            CHECK,
            format!(
                "defaultMTU is {mtu}: with the {TUNNEL} bytes of the tunnel between Gateways packets are larger than the {PATH} that most networks between clusters carry"
            ),
            format!(
                "Set defaultMTU to {} or less, or to 0, unless the network between the clusters carries {} bytes.",
                PATH - TUNNEL,
                u64::from(mtu) + u64::from(TUNNEL)
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::finding::text;

    #[track_caller]
    fn check_text(config: Option<&str>, expected: &str) {
        assert_eq!(text(&[check(config)]).lines().next().unwrap(), expected);
    }

    #[test]
    fn packets_fit_into_the_tunnel_between_clusters() {
        let automatic = "MTU: passed: agents take it from their Nodes, less the tunnel's headers";
        check_text(Some("trafficEncapMode: encap\n"), automatic);
        check_text(Some("defaultMTU: 0\n"), automatic);
        check_text(Some("defaultMTU: 1450\n"), "MTU: passed: defaultMTU 1450 leaves room for the tunnel");
        check_text(
            Some("defaultMTU: 8951\n"),
            "MTU: FAILED: defaultMTU is 8951: with the 50 bytes of the tunnel between Gateways packets are larger than the 1500 that most networks between clusters carry",
        );
    }

    #[test]
    fn a_cluster_without_core_antrea_has_none() {
        check_text(None, "MTU: skipped: there is no antrea-agent.conf in ConfigMap antrea-config");
    }
}

//! What agents and controller say of themselves, and the Tiers that are always there.

use std::time::Duration;

use antrea_e2e::wait;
use anyhow::ensure;

use crate::cluster::on_the_cluster;

#[test]
fn antreaagentinfo_and_controllerinfo_and_tiers_are_there() {
    on_the_cluster("antreaagentinfo_and_controllerinfo_and_tiers_are_there", |cluster| {
        for node in &cluster.plan()?.nodes {
            let name = node.id.to_string();
            wait::until(Duration::from_secs(30), &format!("{name} to tell that it is well"), || {
                let info = cluster.kubectl.json(&["get", "antreaagentinfo", &name])?;
                let conditions = info["agentConditions"].as_array().into_iter().flatten();
                let healthy = conditions
                    .into_iter()
                    .any(|condition| condition["type"] == "AgentHealthy" && condition["status"] == "True");
                Ok(healthy && info["nodeRef"]["name"] == name)
            })?;
        }
        wait::until(Duration::from_secs(30), "the controller to tell that it is well", || {
            let info = cluster.kubectl.json(&["get", "antreacontrollerinfo", "antrea-controller"])?;
            let conditions = info["controllerConditions"].as_array().into_iter().flatten();
            Ok(conditions.into_iter().any(|condition| condition["status"] == "True"))
        })?;
        let tiers = "jsonpath={range .items[*]}{.metadata.name}={.spec.priority} {end}";
        let tiers = cluster.kubectl.text(&["get", "tiers", "--sort-by=.spec.priority", "-o", tiers])?;
        let expected =
            "emergency=50 securityops=100 networkops=150 platform=200 application=250 baseline=253 ";
        ensure!(tiers == expected, "the Tiers are {tiers}");
        Ok(())
    });
}

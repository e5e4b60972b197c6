//! Renews the flows of the userspace datapath whenever the switch has changed: Open vSwitch forgets some of them, as
//! [`Datapath::renewed`] tells, and a policy would not be enforced for as long as a client goes on trying.

use std::time::Duration;

use antrea_config::AgentConfig;
use antrea_kit::logging::chain;
use antrea_ovs::ovsdb::DatapathType;
use antrea_ovs::{Datapath, Switch};
use anyhow::{Context, Result};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::bridge;

/// Between two renewals, after each of which every packet costs a look at all tables once: where much changes, less is spent on
/// it.
const PAUSE: Duration = Duration::from_millis(50);

/// How soon is tried again what ovs-vswitchd has not done.
const RETRY: Duration = Duration::from_secs(1);

/// The datapath of the Node.
pub(crate) fn of(config: &AgentConfig) -> Datapath {
    Datapath::new(config.ovs.run_dir.clone(), bridge::datapath_type(config.ovs.datapath_type))
}

/// Until `stop`. The kernel's datapath needs none of it.
pub(crate) async fn keep_renewed(switch: Switch, datapath: Datapath, stop: CancellationToken) -> Result<()> {
    if datapath.datapath_type() == DatapathType::Netdev {
        stop.run_until_cancelled(renew(switch, datapath)).await.unwrap_or(Ok(()))?;
    }
    stop.cancelled().await;
    Ok(())
}

async fn renew(switch: Switch, datapath: Datapath) -> Result<()> {
    let mut changed = switch.changed();
    // What an earlier agent has changed may not have been followed.
    changed.mark_changed();
    let mut follows = true;
    loop {
        changed.changed().await.context("the switch is given up")?;
        match datapath.renewed().await {
            Ok(()) => {
                if !std::mem::replace(&mut follows, true) {
                    info!("The userspace datapath follows the switch again");
                }
                sleep(PAUSE).await;
            }
            Err(error) => {
                if std::mem::replace(&mut follows, false) {
                    let error = chain(&error);
                    warn!(error, "The userspace datapath may not follow the switch; trying again");
                }
                changed.mark_changed();
                sleep(RETRY).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use antrea_openflow::{Flow, FlowPriority, Match, TableId};
    use antrea_ovs::Round;
    use antrea_ovs::openflow::Connection;
    use antrea_ovs::testing::{OvsProcess, why_unavailable};
    use antrea_types::OfPort;
    use tokio::time::Instant;

    use super::*;

    /// A bridge with the ports 1 and 2, which forwards to the latter what is for two addresses, by a table each. What both
    /// tables drop makes flows of the datapath match addresses of senders.
    const BRIDGE: &str = "add-br br-int -- set bridge br-int datapath_type=netdev fail_mode=secure protocols=OpenFlow15 \
        -- add-port br-int p1 -- set interface p1 type=dummy ofport_request=1 \
        -- add-port br-int p2 -- set interface p2 type=dummy ofport_request=2";
    const FLOWS: [&str; 6] = [
        "table=0,ip,nw_dst=10.0.0.9,actions=resubmit(,1)",
        "table=0,ip,nw_dst=10.0.0.8,actions=resubmit(,2)",
        "table=1,priority=10,actions=output:2",
        "table=1,priority=50,ip,nw_src=192.168.7.7,actions=drop",
        "table=2,priority=10,actions=output:2",
        "table=2,priority=50,ip,nw_src=192.168.7.7,actions=drop",
    ];
    /// A neighbour of the senders: while it is dropped, flows of the datapath match few senders.
    const NEIGHBOUR: &str = "table=1,priority=50,ip,nw_src=10.1.0.200";

    fn send(ovs: &OvsProcess, from: &str, to: &str) {
        let packet = format!(
            "in_port(1),eth(src=50:54:00:00:00:05,dst=50:54:00:00:00:07),eth_type(0x0800),\
             ipv4(src={from},dst={to},proto=17,tos=0,ttl=64,frag=no),udp(src=1,dst=2)"
        );
        // The first packet makes the flow, the others meet it.
        for _ in 0..3 {
            ovs.appctl(["netdev-dummy/receive", "p1", &packet]).unwrap();
        }
    }

    /// The flows of the datapath that forward packets to an address.
    fn forwarding(ovs: &OvsProcess, to: &str) -> Vec<String> {
        let flows = ovs.appctl(["dpctl/dump-flows"]).unwrap();
        let forwards = |flow: &&str| flow.contains(&format!("dst={to},")) && !flow.ends_with("actions:drop");
        flows.lines().filter(forwards).map(str::to_owned).collect()
    }

    #[tokio::test]
    async fn packets_follow_the_switch_where_open_vswitch_forgets_to_change_a_flow() {
        if let Some(reason) = why_unavailable() {
            let test = "packets_follow_the_switch_where_open_vswitch_forgets_to_change_a_flow";
            println!("SKIPPED {test}: {reason}");
            return;
        }
        let ovs = OvsProcess::start().unwrap();
        ovs.vsctl(BRIDGE.split_whitespace()).unwrap();
        for flow in FLOWS {
            ovs.ofctl(["add-flow", "br-int", flow]).unwrap();
        }
        let (connection, _) = Connection::open(ovs.management_socket("br-int"));
        let switch = Switch::new(connection, Round(1), Vec::new());
        switch.realized().await.unwrap();
        let datapath = Datapath::new(ovs.directory().to_owned(), DatapathType::Netdev);
        let stop = CancellationToken::new();
        let _renewing = tokio::spawn(keep_renewed(switch.clone(), datapath, stop.clone()));
        // It renews what was there when it began, for half a second at most.
        sleep(Duration::from_secs(2)).await;

        // The first flow matches half of all senders; the second one few; the third one, again, half of all: those as well.
        send(&ovs, "10.1.0.130", "10.0.0.8");
        ovs.ofctl(["add-flow", "br-int", &format!("{NEIGHBOUR},actions=drop")]).unwrap();
        send(&ovs, "10.1.0.1", "10.0.0.9");
        ovs.ofctl(["del-flows", "br-int", NEIGHBOUR.replace("priority=50,", "").as_str()]).unwrap();
        // The round that ends first may have begun before.
        for _ in 0..2 {
            ovs.appctl(["revalidator/wait"]).unwrap();
        }
        send(&ovs, "10.1.0.130", "10.0.0.9");
        assert_eq!(forwarding(&ovs, "10.0.0.9").len(), 2, "two that overlap");

        let deny = Flow::new(TableId(1), FlowPriority(20)).matching(Match::new().in_port(OfPort(1)));
        switch.apply("deny", vec![deny]).await.unwrap();
        // Open vSwitch itself removes a flow that no packet has met for ten seconds.
        let late = Instant::now() + Duration::from_secs(5);
        while !forwarding(&ovs, "10.0.0.9").is_empty() && Instant::now() < late {
            sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(forwarding(&ovs, "10.0.0.9"), Vec::<String>::new());
        stop.cancel();
    }
}

//! Lets Open vSwitch forward again after it started: whoever starts it sets `flow-restore-wait`, and when all flows are
//! back this removes it. Afterwards, once, what an earlier agent left in the switch goes.

use antrea_ovs::ovsdb::OvsDb;
use antrea_ovs::{Round, Switch};
use anyhow::{Context, Result};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

const FLOW_RESTORE_WAIT: &str = "flow-restore-wait";

/// Where a bridge keeps the number of the last agent that had installed everything.
const ROUND: &str = "roundNum";

/// The round of the flows that are in the switch, if an agent ever finished one.
pub(crate) fn previous_round(database: &OvsDb, bridge: &str) -> Option<Round> {
    database.snapshot().bridge(bridge)?.external_ids.get(ROUND)?.parse().ok()
}

/// Everything was installed: the flows of earlier rounds go, and then the number of this one is noted, so that an agent
/// killed in between does it again.
pub(crate) async fn finish_round(database: &OvsDb, bridge: &str, switch: &Switch) -> Result<()> {
    switch.delete_stale(None).await.context("cannot delete the flows of earlier rounds")?;
    database
        .set_bridge_external_id(bridge, ROUND, &switch.round().to_string())
        .await
        .context("cannot note the round of the flows")?;
    info!(round = %switch.round(), "All flows are of this round");
    Ok(())
}

/// Removes `flow-restore-wait` whenever it is set and the switch has all flows, until `stop`.
pub(crate) async fn run(database: OvsDb, switch: Switch, stop: CancellationToken) -> Result<()> {
    let mut changed = database.changed();
    // After the last change of the database the switch may be there, but not connected to yet.
    let mut channel = switch.connection().channel();
    loop {
        if stop.run_until_cancelled(end_wait(&database, &switch)).await.is_none() {
            return Ok(());
        }
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            outcome = changed.changed() => outcome.context("the connection to OVSDB ended")?,
            outcome = channel.changed() => outcome.context("the connection to the switch ended")?,
        }
        changed.borrow_and_update();
        channel.borrow_and_update();
    }
}

/// Ends the wait if there is one.
pub(crate) async fn end_wait(database: &OvsDb, switch: &Switch) {
    let waiting = |database: &OvsDb| {
        let snapshot = database.snapshot();
        snapshot
            .open_vswitch()
            .is_some_and(|row| row.other_config.get(FLOW_RESTORE_WAIT).is_some_and(|value| value == "true"))
    };
    if !waiting(database) {
        return;
    }
    // The switch that waits has started anew: the connection over which everything was installed may be an earlier one.
    let ended = async {
        switch.resync().await?;
        anyhow::Ok(database.remove_open_vswitch_other_config(FLOW_RESTORE_WAIT).await?)
    };
    match ended.await {
        Ok(()) => info!("Flows are restored: Open vSwitch forwards"),
        Err(error) => warn!(error = format!("{error:#}"), "Flows are not restored yet"),
    }
}

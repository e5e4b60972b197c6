//! An agent that is started with many Services: on a bridge that has their flows, and on one that has nothing.

use std::time::Duration;

use antrea_e2e::lab::Lab;
use antrea_e2e::names::NodeId;
use antrea_e2e::wait;
use anyhow::Result;

use super::{Figure, REALIZED_WITHIN};
use crate::process::{Agent, now};
use crate::switch::{Switch, settled};

/// The sum over flows is made by the thread that installs them, so it is not asked for more often: the error of the figure.
const OF_A_ROUND: Duration = Duration::from_millis(50);
/// Numbers of tables cost nothing.
const OF_ALL: Duration = Duration::from_millis(20);

/// How old an agent is when its memory and its processor time are read.
const SETTLE: Duration = Duration::from_secs(10);

/// From the start of an agent, the one before killed with all flows in place, until every flow is of its own round.
pub(super) fn with_flows(lab: &Lab, node: NodeId) -> Result<Vec<Figure>> {
    let mut switch = Switch::of(lab, node)?;
    let (flows, round) = (settled(&mut switch, REALIZED_WITHIN)?, switch.round()?);
    let old = Agent::of(lab, node)?;
    old.kill()?;
    let current = wait::every(OF_A_ROUND, REALIZED_WITHIN, "every flow to be of the new round", || {
        let current = switch.flows_of(round)? == 0 && switch.flows()? >= flows;
        current.then(now).transpose()
    })?;
    let new = old.next(lab, node)?;
    let seconds = current.saturating_sub(new.started()?).as_secs_f64();
    new.wait_for_age(SETTLE)?;
    Ok(vec![
        Figure::seconds("services/Restart2000x5/seconds", seconds),
        Figure::seconds("services/Restart2000x5/cpu_seconds", new.cpu_seconds()?),
        Figure::bytes("services/Restart2000x5/rss_bytes", new.resident()?),
    ])
}

/// From the start of an agent on a bridge without flows and groups until the last flow is there.
pub(super) fn from_nothing(lab: &Lab, node: NodeId) -> Result<Vec<Figure>> {
    let mut switch = Switch::of(lab, node)?;
    let flows = settled(&mut switch, REALIZED_WITHIN)?;
    let old = Agent::of(lab, node)?;
    // So that it does not notice what happens to its flows.
    old.freeze()?;
    switch.clear()?;
    old.kill()?;
    let complete = wait::every(OF_ALL, REALIZED_WITHIN, "all flows to be back", || {
        (switch.flows()? >= flows).then(now).transpose()
    })?;
    let new = old.next(lab, node)?;
    let seconds = complete.saturating_sub(new.started()?).as_secs_f64();
    new.wait_for_age(SETTLE)?;
    Ok(vec![
        Figure::seconds("services/Cold10000x10/seconds", seconds),
        Figure::bytes("services/Cold10000x10/rss_bytes", new.resident()?),
    ])
}

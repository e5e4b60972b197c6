//! Agents1000: so many agents with their three watches each, over TLS, at the API server of antrea-controller in a process
//! of its own: what an agent costs there, and how long it takes until all have caught up after a restart.

mod agent;
mod api_server;
mod kubernetes;
mod server_process;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use crate::print;
use agent::{Agent, CaughtUp};
pub(crate) use api_server::serve;
use server_process::ServerProcess;

const AGENTS: u32 = 1000;

/// How long the server is left alone before its memory is looked at.
const REST: Duration = Duration::from_secs(3);

/// Nobody waits longer for agents that do not catch up.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) fn measure() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure_memory_and_restart())
}

async fn measure_memory_and_restart() -> Result<()> {
    let kubernetes = kubernetes::start().await?;
    let (whereabouts, _) = watch::channel(None);
    let (caught_up, mut news) = mpsc::channel(1);
    let mut first = ServerProcess::start(1, kubernetes).await?;
    first.until_filled().await?;
    sleep(REST).await;
    let alone = first.resident()?;
    for number in 0..AGENTS {
        let agent = Agent { number, caught_up: caught_up.clone() };
        tokio::spawn(agent.run(whereabouts.subscribe()));
    }
    let begun = Instant::now();
    whereabouts.send_replace(Some(first.whereabouts()));
    until_all(1, &mut news).await?;
    eprintln!("first caught up after {:?}", begun.elapsed());
    sleep(REST).await;
    let together = first.resident()?;
    eprintln!("{alone} bytes without agents, {together} with them, {} at most", first.peak_resident()?);
    println!("rss_bytes {}", together.saturating_sub(alone) / u64::from(AGENTS));
    first.kill().await?;
    let begun = Instant::now();
    let second = ServerProcess::start(2, kubernetes).await?;
    whereabouts.send_replace(Some(second.whereabouts()));
    until_all(2, &mut news).await?;
    print("seconds", begun.elapsed());
    Ok(())
}

/// Until each agent has caught up with a run of the server.
async fn until_all(run: u32, news: &mut mpsc::Receiver<CaughtUp>) -> Result<()> {
    let mut caught_up = BTreeSet::new();
    let all = async {
        while caught_up.len() < AGENTS as usize {
            let CaughtUp { agent, .. } = match news.recv().await {
                Some(news) if news.run == run => news,
                Some(_) => continue,
                None => break,
            };
            caught_up.insert(agent);
        }
    };
    let waited = timeout(PATIENCE, all).await;
    waited.with_context(|| format!("only {} agents of {AGENTS} caught up", caught_up.len()))
}

//! What an agent stores of what it is told: a file for each policy and group.

use std::time::{Duration, Instant};

use antrea_agent_policy::FileChange;
use antrea_agent_policy_files::{FileStore, Stored};
use anyhow::{Context, Result, ensure};
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use crate::agent::told_of_each;
use crate::print;

/// Rounds of the workload.
const ROUNDS: u32 = 50;

/// Agents store in memory as well.
const PLACE: &str = "/run";

/// 1,000 policies, AddressGroups and AppliedToGroups: until all are stored in a folder that was not there.
pub(crate) fn measure() -> Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build().context("cannot make a runtime")?;
    for round in 0..ROUNDS {
        let changes = told_of_each(1_000)?.take_file_changes();
        let count = changes.len();
        let (stored, loaded) = runtime.block_on(store(changes))?;
        print("sample", stored);
        if round == 0 {
            eprintln!("{count} files, loaded in {loaded:?}");
        }
    }
    Ok(())
}

/// How long it takes to store files, and to load them.
async fn store(changes: Vec<FileChange>) -> Result<(Duration, Duration)> {
    let place = tempfile::tempdir_in(PLACE).with_context(|| format!("cannot store anything in {PLACE}"))?;
    let (count, files) = (changes.len(), FileStore::open(&place.path().join("networkpolicy")));
    let (stop, mut outcome) = (CancellationToken::new(), files.stored());
    let running = tokio::spawn(files.clone().run(stop.clone()));
    let started = Instant::now();
    files.change(changes);
    let outcome = *outcome.wait_for(Option::is_some).await?;
    let stored = started.elapsed();
    ensure!(outcome == Some(Stored::All), "not everything could be stored");
    let started = Instant::now();
    let objects = files.load().await.len();
    let loaded = started.elapsed();
    ensure!(objects == count, "{objects} objects of {count} were stored");
    stop.cancel();
    running.await??;
    Ok((stored, loaded))
}

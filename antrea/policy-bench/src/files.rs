//! What an agent stores of what it is told: a file for each policy and group.

use std::time::{Duration, Instant};

use antrea_agent_policy::RuleCache;
use antrea_agent_policy_files::{FileStore, Loaded, Stored};
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
        let mut cache = told_of_each(1_000)?;
        let count = cache.files().len();
        let (stored, loaded) = runtime.block_on(store(&mut cache))?;
        print("sample", stored);
        if round == 0 {
            eprintln!("{count} files, loaded in {loaded:?}");
        }
    }
    Ok(())
}

/// How long it takes to store files, and to load them.
async fn store(cache: &mut RuleCache) -> Result<(Duration, Duration)> {
    let place = tempfile::tempdir_in(PLACE).with_context(|| format!("cannot store anything in {PLACE}"))?;
    let (names, changes) = (cache.files(), cache.take_file_changes());
    let files = FileStore::open(&place.path().join("networkpolicy"));
    let (stop, mut outcome) = (CancellationToken::new(), files.stored());
    let running = tokio::spawn(files.clone().run(stop.clone()));
    let started = Instant::now();
    files.keep_only(&names);
    files.change(changes);
    let outcome = *outcome.wait_for(Option::is_some).await?;
    let stored = started.elapsed();
    ensure!(outcome == Some(Stored::All), "not everything could be stored");
    let started = Instant::now();
    let Loaded { objects, doubts } = files.load(Stored::All).await;
    let loaded = started.elapsed();
    ensure!(doubts.is_empty(), "what is stored is doubtful: {doubts:?}");
    ensure!(objects.len() == names.len(), "{} objects of {} were stored", objects.len(), names.len());
    stop.cancel();
    running.await??;
    Ok((stored, loaded))
}

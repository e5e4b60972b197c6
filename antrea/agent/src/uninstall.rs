//! `antrea-agent uninstall`, the Pods of `helm uninstall`'s hook: one on each Node has the Node's agent undo what it
//! did, and one waits until all Nodes are done.
//!
//! The two processes on a Node meet in files: whoever wants the clean-up writes `uninstall`, and the agent writes
//! `uninstalled` when nothing of it is left. Both go when the hook's Pod ends. One that was killed leaves them, and must
//! not keep a later installation from starting: `uninstall` counts only while it is written again and again.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use antrea_kit::components::termination_signal;
use antrea_kit::kube_client::{self, Access, bounded};
use antrea_shared_api::well_known::environment;
use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::apps::v1::DaemonSet;
use kube::Api;
use tokio::fs;
use tracing::{info, warn};

/// Where agent and hook meet on a Node.
const RUN_DIR: &str = "/var/run/antrea";

/// How often files and the DaemonSet are looked at, and the wish is written again.
const INTERVAL: Duration = Duration::from_millis(500);

/// A wish older than this is one of a hook that is gone.
const FRESH: Duration = Duration::from_secs(10);

/// What is asked for; without options, that this Node be cleaned up.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only tell, by the exit code, whether this Node is clean.
    #[arg(long, conflicts_with = "wait_for_daemonset")]
    check: bool,
    /// Wait until every Pod of this DaemonSet is ready.
    #[arg(long, value_name = "NAME")]
    wait_for_daemonset: Option<String>,
    /// How long to wait for it, in seconds.
    #[arg(long, default_value_t = 120)]
    timeout: u64,
    /// The API server, where the Pod's environment does not lead to it.
    #[arg(long)]
    kube_api_server_override: Option<String>,
    /// Files of the CNI to remove from the Node first.
    #[arg(long, value_name = "FILE")]
    remove: Vec<PathBuf>,
}

pub(crate) async fn run(options: &Options) -> Result<()> {
    let files = Files::new(Path::new(RUN_DIR));
    if options.check {
        ensure!(files.is_clean().await, "this Node is not cleaned up yet");
        return Ok(());
    }
    match &options.wait_for_daemonset {
        Some(name) => wait_for_daemonset(name, options).await,
        None => clean_node(&files, &options.remove).await,
    }
}

/// The files by which the hook and the agent of a Node talk.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    wanted: PathBuf,
    done: PathBuf,
}

impl Files {
    pub(crate) fn new(run_dir: &Path) -> Self {
        Self { wanted: run_dir.join("uninstall"), done: run_dir.join("uninstalled") }
    }

    /// The files of this Node.
    pub(crate) fn of_node() -> Self {
        Self::new(Path::new(RUN_DIR))
    }

    /// Whether the Node shall be cleaned up.
    async fn is_wanted(&self) -> bool {
        let written = async { fs::metadata(&self.wanted).await?.modified() };
        match written.await {
            // A clock that was set back makes it no older.
            Ok(written) => written.elapsed().is_ok_and(|age| age < FRESH) || written > SystemTime::now(),
            Err(_) => false,
        }
    }

    /// Whether it is clean.
    async fn is_clean(&self) -> bool {
        fs::try_exists(&self.done).await.unwrap_or(false)
    }

    /// Returns once the Node shall be cleaned up.
    pub(crate) async fn wanted(&self) {
        while !self.is_wanted().await {
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Tells every hook that asks that the Node is clean.
    pub(crate) async fn tell_clean(&self) {
        loop {
            if self.is_wanted().await
                && !self.is_clean().await
                && let Err(error) = fs::write(&self.done, b"").await
            {
                warn!(file = %self.done.display(), %error, "Cannot tell that this Node is clean");
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    async fn want(&self) -> Result<()> {
        fs::write(&self.wanted, b"").await.with_context(|| format!("cannot write {}", self.wanted.display()))
    }

    async fn forget(&self) -> Result<()> {
        for path in [&self.wanted, &self.done] {
            remove(path).await?;
        }
        Ok(())
    }
}

async fn clean_node(files: &Files, cni_files: &[PathBuf]) -> Result<()> {
    let terminated = termination_signal().context("cannot listen for SIGTERM")?;
    // Without them nothing new is asked of the agent while it goes.
    for path in cni_files {
        remove(path).await?;
    }
    // What an agent told an earlier hook may not be so any more.
    files.forget().await?;
    info!("Waiting for the agent to clean up this Node");
    let mut terminated = std::pin::pin!(terminated);
    loop {
        files.want().await?;
        tokio::select! {
            () = &mut terminated => return files.forget().await,
            () = tokio::time::sleep(INTERVAL) => {}
        }
    }
}

async fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path).await {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

async fn wait_for_daemonset(name: &str, options: &Options) -> Result<()> {
    let variable = environment::POD_NAMESPACE;
    let namespace =
        std::env::var(variable).with_context(|| format!("the environment variable {variable} is not set"))?;
    let access = Access {
        kubeconfig: None,
        server: options.kube_api_server_override.as_deref(),
        user_agent: concat!("antrea-agent/", env!("CARGO_PKG_VERSION")),
    };
    let api: Api<DaemonSet> = Api::namespaced(kube_client::client(access).await?, &namespace);
    let deadline = tokio::time::Instant::now() + Duration::from_secs(options.timeout);
    loop {
        let progress = match bounded(api.get(name)).await {
            Ok(daemonset) => match progress(&daemonset) {
                Progress::Done => return Ok(()),
                Progress::Waiting(text) => text,
            },
            Err(error) => format!("{error:#}"),
        };
        if tokio::time::Instant::now() >= deadline {
            bail!(
                "not every Node was cleaned up within {} s: {progress}; see the agents' logs",
                options.timeout
            );
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

enum Progress {
    Done,
    Waiting(String),
}

fn progress(daemonset: &DaemonSet) -> Progress {
    let status = daemonset.status.clone().unwrap_or_default();
    // Before the controller has seen the DaemonSet, "0 of 0" would pass for done.
    if status.observed_generation.is_none() || status.observed_generation != daemonset.metadata.generation {
        return Progress::Waiting("the DaemonSet is not acted on yet".to_owned());
    }
    if status.number_ready < status.desired_number_scheduled {
        return Progress::Waiting(format!(
            "{} of {} Nodes are clean",
            status.number_ready, status.desired_number_scheduled
        ));
    }
    Progress::Done
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::time::timeout;

    use super::*;

    fn check(status: &serde_json::Value) -> String {
        let daemonset = json!({"metadata": {"generation": 1}, "status": status});
        match progress(&serde_json::from_value(daemonset).unwrap()) {
            Progress::Done => "done".to_owned(),
            Progress::Waiting(text) => text,
        }
    }

    fn status(ready: i32, observed: Option<i64>) -> serde_json::Value {
        json!({
            "currentNumberScheduled": 2, "desiredNumberScheduled": 2, "numberMisscheduled": 0,
            "numberReady": ready, "observedGeneration": observed,
        })
    }

    #[test]
    fn every_node_has_to_be_clean() {
        assert_eq!(check(&status(1, Some(1))), "1 of 2 Nodes are clean");
        assert_eq!(check(&status(2, Some(1))), "done");
    }

    #[test]
    fn a_daemonset_that_was_not_seen_yet_is_not_done() {
        assert_eq!(check(&status(2, None)), "the DaemonSet is not acted on yet");
    }

    #[tokio::test]
    async fn agent_and_hook_meet_in_files() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(folder.path());
        assert!(!files.is_wanted().await && !files.is_clean().await);
        files.want().await.unwrap();
        files.wanted().await;
        let told = timeout(INTERVAL / 2, files.tell_clean()).await;
        assert!(told.is_err() && files.is_clean().await);
        files.forget().await.unwrap();
        files.forget().await.unwrap();
        assert!(!files.is_wanted().await && !files.is_clean().await);
    }

    #[tokio::test]
    async fn what_a_killed_hook_left_keeps_nobody_from_starting() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(folder.path());
        files.want().await.unwrap();
        let file = std::fs::File::options().write(true).open(&files.wanted).unwrap();
        file.set_modified(SystemTime::now() - FRESH).unwrap();
        assert!(!files.is_wanted().await);
        file.set_modified(SystemTime::now() + FRESH).unwrap();
        assert!(files.is_wanted().await);
    }
}

//! Whether tokens of Pods name their Nodes: asks the API server for its version, at the start and every few minutes,
//! since clusters are upgraded while a controller runs.

use std::time::{Duration, Instant};

use anyhow::Result;
use k8s_openapi::apimachinery::pkg::version::Info;
use kube::Client;
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::backoff::{Backoff, jitter};
use crate::kube_client::bounded;

/// The first version whose API server says so: ServiceAccountTokenPodNodeInfo is on by default.
const FIRST: (u32, u32) = (1, 30);

/// How long a token from before an upgrade is good, with room for what the kubelet takes to replace it: an hour and seven
/// seconds is what Pods get.
const TOKEN_LIFETIME: Duration = Duration::from_secs(65 * 60);

/// How often the version is asked for.
const PERIOD: Duration = Duration::from_secs(300);

/// Whether the API server says of the tokens of Pods on which Node they are: Kubernetes 1.30 and later do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodesInTokens {
    /// Nobody knows yet how old the API server is.
    #[default]
    Unknown,
    /// It does not: a token without a Node is believed.
    Absent,
    /// It does: a token without a Node is not that of an agent's Pod.
    Present,
}

/// What was learned so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct History {
    /// When an API server answered last that does not say so. There may be several, of different versions, for a while.
    last_older: Option<Instant>,
}

impl History {
    /// An API server of this version answers.
    fn learn(&mut self, version: (u32, u32), now: Instant) -> NodesInTokens {
        if version < FIRST {
            self.last_older = Some(now);
        }
        match self.last_older {
            Some(last) if now.duration_since(last) < TOKEN_LIFETIME => NodesInTokens::Absent,
            _ => NodesInTokens::Present,
        }
    }
}

/// Major and minor; vendors write `30+`.
fn numbers(version: &Info) -> Option<(u32, u32)> {
    let number = |text: &str| {
        let digits = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
        text.get(..digits)?.parse().ok()
    };
    Some((number(&version.major)?, number(&version.minor)?))
}

impl NodesInTokens {
    /// Keeps `tokens` as the API server is, until `stop`.
    ///
    /// # Errors
    /// Never: an API server that is away is asked again.
    pub async fn follow(client: Client, tokens: watch::Sender<Self>, stop: CancellationToken) -> Result<()> {
        stop.run_until_cancelled(ask(&client, &tokens)).await;
        Ok(())
    }
}

async fn ask(client: &Client, tokens: &watch::Sender<NodesInTokens>) {
    let (mut history, mut backoff) = (History::default(), new_backoff());
    loop {
        let wait = match bounded(client.apiserver_version()).await.map(|version| numbers(&version)) {
            Ok(Some(version)) => {
                tell(tokens, history.learn(version, Instant::now()), version);
                backoff = new_backoff();
                PERIOD.mul_f64(1.0 + jitter())
            }
            Ok(None) => {
                warn!("The API server has a version that is not understood: agents need tokens with a Node");
                tokens.send_replace(NodesInTokens::Present);
                PERIOD
            }
            Err(error) => {
                warn!(error = format!("{error:#}"), "The API server does not say its version");
                backoff.wait(jitter())
            }
        };
        sleep(wait).await;
    }
}

const fn new_backoff() -> Backoff {
    Backoff::new(Duration::from_millis(200), Duration::from_secs(30))
}

fn tell(tokens: &watch::Sender<NodesInTokens>, learned: NodesInTokens, (major, minor): (u32, u32)) {
    let changed = tokens.send_if_modified(|present| std::mem::replace(present, learned) != learned);
    if changed {
        let version = format!("{major}.{minor}");
        info!(version, nodes_in_tokens = ?learned, "Version of the API server learned");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn tokens_name_their_nodes_from_kubernetes_1_30_on() {
        let now = Instant::now();
        let check = |version| History::default().learn(version, now);
        assert_eq!(check((1, 29)), NodesInTokens::Absent);
        assert_eq!(check((1, 30)), NodesInTokens::Present);
        assert_eq!(check((2, 0)), NodesInTokens::Present);
    }

    #[test]
    fn tokens_from_before_an_upgrade_are_good_for_an_hour() {
        let (mut history, now) = (History::default(), Instant::now());
        assert_eq!(history.learn((1, 29), now), NodesInTokens::Absent);
        assert_eq!(history.learn((1, 30), now + 5 * MINUTE), NodesInTokens::Absent);
        assert_eq!(history.learn((1, 29), now + 10 * MINUTE), NodesInTokens::Absent, "another API server");
        assert_eq!(history.learn((1, 30), now + 74 * MINUTE), NodesInTokens::Absent);
        assert_eq!(history.learn((1, 30), now + 75 * MINUTE), NodesInTokens::Present);
    }

    #[test]
    fn vendors_write_more_than_numbers() {
        let info = |major: &str, minor: &str| Info {
            major: major.to_owned(),
            minor: minor.to_owned(),
            ..Info::default()
        };
        assert_eq!(numbers(&info("1", "30+")), Some((1, 30)));
        assert_eq!(numbers(&info("1", "34")), Some((1, 34)));
        assert_eq!(numbers(&info("", "x")), None);
    }
}

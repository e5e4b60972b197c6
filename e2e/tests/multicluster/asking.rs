//! Requests on connections of their own that go on inside a Pod by themselves, and who answered them.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use antrea_e2e::pods::Pod;
use anyhow::{Result, ensure};

use super::stage::until;

const CLIENT: &str = r#"
while [ ! -e /tmp/stop-asking ]; do
  curl -gsSf --max-time 5 "http://$1/hostname" 2>/dev/null || printf failed
  echo; sleep 0.1
done
echo stopped
"#;

const START: &str =
    r#"rm -f /tmp/stop-asking; setsid bash -c "$1" client "$2" </dev/null >/tmp/asked 2>&1 &"#;

/// Who answers for a request that nobody answers.
const NOBODY: &str = "failed";

/// Requests that go on.
pub(super) struct Asking {
    from: Pod,
}

impl Asking {
    pub(super) fn start(from: &Pod, server: SocketAddr) -> Result<Self> {
        from.exec(&["bash", "-c", START, "start", CLIENT, &server.to_string()])?;
        Ok(Self { from: from.clone() })
    }

    /// Ends it: how often each server answered. An error when one of `servers` has not, or a request failed.
    pub(super) fn ensure_all_were_answered(self, servers: &[&str]) -> Result<()> {
        let answers = self.end(servers)?;
        let failed = answers.get(NOBODY).copied().unwrap_or_default();
        ensure!(failed == 0, "{failed} requests failed: {answers:?}");
        Ok(())
    }

    /// Ends it once these have answered, and returns how often each server has.
    pub(super) fn end(self, servers: &[&str]) -> Result<BTreeMap<String, usize>> {
        until(&format!("answers of {servers:?}"), || {
            let answers = self.answers()?;
            ensure!(servers.iter().all(|server| answers.contains_key(*server)), "{answers:?}");
            Ok(())
        })?;
        self.from.exec(&["touch", "/tmp/stop-asking"])?;
        until("the client to stop", || {
            ensure!(self.answers()?.contains_key("stopped"), "it goes on");
            Ok(())
        })?;
        self.answers()
    }

    fn answers(&self) -> Result<BTreeMap<String, usize>> {
        let mut answers = BTreeMap::new();
        for line in self.from.exec(&["cat", "/tmp/asked"])?.lines() {
            *answers.entry(line.to_owned()).or_default() += 1;
        }
        Ok(answers)
    }
}

//! One HTTP connection that stays open and asks ten times a second. It runs inside a Pod by itself, so that it goes on
//! when nothing of Kubernetes answers.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use antrea_e2e::pods::{PORT, Pod};
use antrea_e2e::wait;
use anyhow::{Result, ensure};

/// `/clientip` tells address and port of the client: as long as they are the same, so is the connection.
const CLIENT: &str = r#"
exec 3<>/dev/tcp/$1/$2 || exit
while [ ! -e /tmp/stop ]; do
  printf 'GET /clientip HTTP/1.1\r\nHost: server\r\n\r\n' >&3
  length=0
  while IFS= read -r -t $3 line <&3; line=${line%$'\r'}; [ -n "$line" ]; do
    case $line in Content-Length:*) length=${line#*: } ;; esac
  done
  [ "$length" -gt 0 ] && IFS= read -r -t $3 -N "$length" body <&3 || { echo "no answer within $3 s"; exit; }
  echo "$body"
  sleep 0.1
done
echo stopped
"#;

const START: &str =
    r#"rm -f /tmp/stop; setsid bash -c "$1" client "$2" "$3" "$4" </dev/null >/tmp/answers 2>&1 &"#;

pub(crate) struct KeepAlive {
    from: Pod,
}

impl KeepAlive {
    pub(crate) fn start(from: &Pod, to: IpAddr) -> Result<Self> {
        Self::with_patience(from, to, 3)
    }

    /// One whose answers may take that many seconds: TCP sends again after growing pauses.
    pub(crate) fn with_patience(from: &Pod, to: IpAddr, seconds: u8) -> Result<Self> {
        Self::to(from, SocketAddr::new(to, PORT), seconds)
    }

    /// One to any server that serves netexec.
    pub(crate) fn to(from: &Pod, to: SocketAddr, seconds: u8) -> Result<Self> {
        let (to, port, seconds) = (to.ip().to_string(), to.port().to_string(), seconds.to_string());
        from.exec(&["bash", "-c", START, "start", CLIENT, &to, &port, &seconds])?;
        let connection = Self { from: from.clone() };
        connection.wait_for_answers(5)?;
        Ok(connection)
    }

    /// Waits until there are `more` answers than now.
    pub(crate) fn wait_for_answers(&self, more: usize) -> Result<()> {
        let before = self.answers()?.len();
        wait::until(Duration::from_secs(30), "more answers on a connection that is open", || {
            Ok(self.answers()?.len() >= before + more)
        })
    }

    /// Ends it; an error when it did not last that long, or was another connection at some time.
    pub(crate) fn ensure_it_lasted(self) -> Result<()> {
        self.wait_for_answers(10)?;
        self.from.exec(&["touch", "/tmp/stop"])?;
        wait::until(Duration::from_secs(10), "the client to stop", || {
            Ok(self.answers()?.last().is_some_and(|line| line == "stopped"))
        })?;
        let mut answers = self.answers()?;
        answers.retain(|line| line != "stopped");
        answers.dedup();
        ensure!(answers.len() == 1, "the connection did not last: {answers:?}");
        Ok(())
    }

    fn answers(&self) -> Result<Vec<String>> {
        let text = self.from.exec(&["cat", "/tmp/answers"])?;
        Ok(text.lines().map(str::to_owned).collect())
    }
}

//! Commands for a running daemon of Open vSwitch, as `ovs-appctl` sends them: JSON-RPC over its control socket
//! (unixctl(7)), and text for an answer.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// How long a daemon may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest answer that is read.
const LONGEST: u64 = 16 << 20;

/// A command that was not done.
#[derive(Debug, thiserror::Error)]
pub enum UnixctlError {
    /// The daemon refused it; this is what it says.
    #[error("{0}")]
    Refused(String),
    /// The daemon is away.
    #[error("{} does not answer", path.display())]
    Away {
        /// Its socket.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Where ovs-vswitchd listens for commands: `ovs-vswitchd.ctl`, or a name with its process number.
///
/// # Errors
/// When there is no such socket in the folder.
pub fn vswitchd_socket(run_dir: &Path) -> Result<PathBuf, UnixctlError> {
    let away = |source| UnixctlError::Away { path: run_dir.join("ovs-vswitchd.ctl"), source };
    let entries: io::Result<Vec<_>> = std::fs::read_dir(run_dir).map_err(away)?.collect();
    let mut names: Vec<String> =
        entries.map_err(away)?.iter().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| name.contains("vswitchd") && name.ends_with(".ctl"));
    // The shortest is the one that the supervisor names; others may be left by daemons that died.
    names.sort_by_key(|name| (name.len(), name.clone()));
    match names.first() {
        Some(name) => Ok(run_dir.join(name)),
        None => Err(away(io::Error::from(io::ErrorKind::NotFound))),
    }
}

/// Has the daemon behind a socket do `method`, and returns what it prints.
///
/// # Errors
/// What the daemon says where it refuses, or that it is away.
pub async fn command(socket: &Path, method: &str, arguments: &[&str]) -> Result<String, UnixctlError> {
    let away = |source| UnixctlError::Away { path: socket.to_owned(), source };
    let request = json!({"id": 0, "method": method, "params": arguments}).to_string();
    let answer = match timeout(PATIENCE, exchange(socket, &request)).await {
        Ok(answer) => answer.map_err(away)?,
        Err(_) => return Err(away(io::Error::from(io::ErrorKind::TimedOut))),
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match (text(&answer["result"]), text(&answer["error"])) {
        (Some(result), _) => Ok(result),
        (None, Some(error)) => Err(UnixctlError::Refused(error)),
        (None, None) => Err(away(io::Error::from(io::ErrorKind::InvalidData))),
    }
}

/// The daemon leaves the connection open: the answer ends where its JSON does.
async fn exchange(socket: &Path, request: &str) -> io::Result<Value> {
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut stream = stream.take(LONGEST);
    let mut bytes = Vec::new();
    while stream.read_buf(&mut bytes).await? > 0 {
        // Between two looks the answer grows by a buffer; only an end can complete it.
        if bytes.last() == Some(&b'}')
            && let Ok(answer) = serde_json::from_slice(&bytes)
        {
            return Ok(answer);
        }
    }
    Err(io::Error::from(io::ErrorKind::UnexpectedEof))
}

#[cfg(test)]
mod tests {
    use tokio::net::UnixListener;

    use super::*;

    /// What a daemon that answers in these pieces is understood to say.
    async fn check(pieces: &'static [&'static str]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ovs-vswitchd.ctl");
        let listener = UnixListener::bind(&path).unwrap();
        let daemon = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 1024];
            let length = stream.read(&mut request).await.unwrap();
            for piece in pieces {
                stream.write_all(piece.as_bytes()).await.unwrap();
                tokio::task::yield_now().await;
            }
            String::from_utf8(request[..length].to_vec()).unwrap()
        });
        assert_eq!(vswitchd_socket(folder.path()).unwrap(), path);
        let answer = command(&path, "ofproto/trace", &["br-int", "ip"]).await;
        let request = daemon.await.unwrap();
        assert_eq!(request, r#"{"id":0,"method":"ofproto/trace","params":["br-int","ip"]}"#);
        match answer {
            Ok(text) => text,
            Err(UnixctlError::Refused(error)) => format!("refused: {error}"),
            Err(error) => error.to_string(),
        }
    }

    #[tokio::test]
    async fn a_command_is_answered_however_the_answer_is_cut() {
        assert_eq!(check(&[r#"{"id":0,"result":"a {}"#, r#"}","error":null}"#]).await, "a {}}");
    }

    #[tokio::test]
    async fn what_the_daemon_says_against_it_is_the_error() {
        let answer = [r#"{"id":0,"result":null,"error":"br-int: unknown bridge"}"#];
        let answer: &'static [&'static str] = Box::leak(Box::new(answer));
        assert_eq!(check(answer).await, "refused: br-int: unknown bridge");
    }

    #[tokio::test]
    async fn a_daemon_that_says_nothing_is_away() {
        let text = check(&[r#"{"id":0"#]).await;
        assert!(text.ends_with("ovs-vswitchd.ctl does not answer"), "{text}");
    }
}

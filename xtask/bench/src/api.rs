//! Requests to an API server, thousands of them at once: HTTP through the socket of a `kubectl proxy`, which has the
//! connections and the credentials.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use antrea_e2e::kubectl::Kubectl;
use antrea_e2e::lab::Lab;
use antrea_e2e::names::ClusterId;
use antrea_e2e::progress::all_at_once;
use antrea_e2e::{state, wait};
use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// How many requests are on their way at a time: more only wait in the API server.
const AT_ONCE: usize = 8;

/// A request; its path begins with `/api`.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Request {
    Read { path: String },
    Create { path: String, object: Value },
    Merge { path: String, patch: Value },
    Delete { path: String },
}

/// The way to the API server of a cluster.
pub(super) struct Api {
    proxy: Child,
    socket: PathBuf,
}

impl Api {
    pub(super) fn open(lab: &Lab, cluster: ClusterId) -> Result<Self> {
        let socket = state::folder(&lab.plan().name).join(format!("bench-{cluster}.sock"));
        let proxy = start(&lab.kubectl(cluster)?, &socket)?;
        let api = Self { proxy, socket };
        wait::until(Duration::from_secs(20), "kubectl proxy", || {
            Ok(UnixStream::connect(&api.socket).is_ok())
        })?;
        Ok(api)
    }

    /// Sends a request and returns when it was answered.
    pub(super) fn send(&self, request: &Request) -> Result<()> {
        self.answer(request).map(drop)
    }

    /// What there is at a path.
    pub(super) fn read(&self, path: &str) -> Result<Value> {
        let answer = self.answer(&Request::Read { path: path.to_owned() })?;
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
        serde_json::from_str(body).with_context(|| format!("{path} is no JSON"))
    }

    /// The answer to a request for `path` as it comes: for watches, which have no end.
    pub(super) fn stream(&self, path: &str) -> Result<UnixStream> {
        self.begin(&Request::Read { path: path.to_owned() }).with_context(|| format!("GET {path}"))
    }

    fn answer(&self, request: &Request) -> Result<String> {
        let failed = || format!("{} {}", request.method(), request.path());
        let mut answer = Vec::new();
        self.begin(request).and_then(|mut stream| stream.read_to_end(&mut answer)).with_context(failed)?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        check(&answer).with_context(failed)?;
        Ok(answer)
    }

    fn begin(&self, request: &Request) -> std::io::Result<UnixStream> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.write_all(request.text().as_bytes())?;
        Ok(stream)
    }

    /// Sends them all, several at a time, in no order.
    pub(super) fn send_all(&self, requests: &[Request]) -> Result<()> {
        let share = requests.len().div_ceil(AT_ONCE).max(1);
        let shares: Vec<&[Request]> = requests.chunks(share).collect();
        all_at_once(&shares, |share| share.iter().try_for_each(|request| self.send(request))).map(drop)
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        // A proxy that has ended by itself leaves nobody to kill.
        self.proxy.kill().ok();
        self.proxy.wait().ok();
        std::fs::remove_file(&self.socket).ok();
    }
}

fn start(kubectl: &Kubectl, socket: &Path) -> Result<Child> {
    // One that a killed run has left is in the way.
    std::fs::remove_file(socket).ok();
    let mut proxy = kubectl.command(&["proxy", "--reject-paths=^$"]);
    proxy.arg(format!("--unix-socket={}", socket.display()));
    let started = proxy.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    started.context("cannot run kubectl proxy")
}

impl Request {
    fn method(&self) -> &'static str {
        match self {
            Self::Read { .. } => "GET",
            Self::Create { .. } => "POST",
            Self::Merge { .. } => "PATCH",
            Self::Delete { .. } => "DELETE",
        }
    }

    fn path(&self) -> &str {
        match self {
            Self::Create { path, .. }
            | Self::Merge { path, .. }
            | Self::Read { path }
            | Self::Delete { path } => path,
        }
    }

    /// HTTP/1.0, which ends an answer with the connection: there is nothing to parse but the first line.
    fn text(&self) -> String {
        let (kind, body) = match self {
            Self::Create { object, .. } => ("application/json", object.to_string()),
            Self::Merge { patch, .. } => ("application/merge-patch+json", patch.to_string()),
            Self::Read { .. } | Self::Delete { .. } => ("application/json", String::new()),
        };
        let (method, path, length) = (self.method(), self.path(), body.len());
        format!(
            "{method} {path} HTTP/1.0\r\nHost: localhost\r\nContent-Type: {kind}\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
    }
}

/// An error with all that was answered, unless it is a success.
fn check(answer: &str) -> Result<()> {
    let status = answer.split(' ').nth(1).unwrap_or_default();
    ensure!(status.len() == 3 && status.starts_with('2'), "the API server answered {answer:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_says_how_long_it_is() {
        let request =
            Request::Create { path: "/api/v1/namespaces".into(), object: json!({"kind": "Namespace"}) };
        assert_eq!(
            request.text(),
            "POST /api/v1/namespaces HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: 20\r\n\r\n{\"kind\":\"Namespace\"}"
        );
    }

    #[test]
    fn only_an_answer_that_says_so_is_a_success() {
        assert!(check("HTTP/1.0 201 Created\r\n\r\n{}").is_ok());
        for answer in ["HTTP/1.0 409 Conflict\r\n\r\n{}", "", "HTTP/1.0 2 OK"] {
            assert!(check(answer).is_err(), "{answer}");
        }
    }
}

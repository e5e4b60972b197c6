//! The API server of a lab, one HTTP request a call, through a `kubectl proxy` that runs as long as the lab. kubectl
//! itself takes a tenth of a second each time, too long for tests of what happens fifty times a second.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use antrea_e2e::command::spawn_detached;
use antrea_e2e::kubectl::Kubectl;
use antrea_e2e::names::LabName;
use antrea_e2e::{state, wait};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// Who applies objects, and the label of all of them.
pub(crate) const MANAGER: &str = "antrea-e2e";

const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Api {
    socket: PathBuf,
}

impl Api {
    /// Starts the proxy. It belongs to the lab and ends with it.
    pub(crate) fn start(lab: &LabName, kubectl: &Kubectl) -> Result<Self> {
        let socket = state::folder(lab).join("api.sock");
        let unix = format!("--unix-socket={}", socket.display());
        spawn_detached(lab, &kubectl.command(&["proxy", &unix]), &state::folder(lab).join("api.log"))?;
        let api = Self { socket };
        wait::until(Duration::from_secs(20), "the API server behind kubectl proxy", || {
            api.request("GET", "/readyz", "", "").map(|answer| answer == "ok")
        })?;
        Ok(api)
    }

    /// Makes an object what it is here, or creates it; returns it as the API server has it then.
    pub(crate) fn apply(&self, object: &Value) -> Result<Value> {
        let path = format!("{}?fieldManager={MANAGER}&force=true", path_of(object)?);
        self.json("PATCH", &path, "application/apply-patch+yaml", object)
    }

    /// Changes the status of an object.
    pub(crate) fn patch_status(&self, object: &Value, status: &Value) -> Result<Value> {
        let path = format!("{}/status", path_of(object)?);
        self.json("PATCH", &path, "application/merge-patch+json", &json!({ "status": status }))
    }

    /// Changes an object where the patch says so.
    pub(crate) fn patch(&self, path: &str, patch: &Value) -> Result<Value> {
        self.json("PATCH", path, "application/merge-patch+json", patch)
    }

    pub(crate) fn get(&self, path: &str) -> Result<Value> {
        self.json("GET", path, "", &Value::Null)
    }

    pub(crate) fn delete(&self, object: &Value) -> Result<()> {
        self.json("DELETE", &path_of(object)?, "", &Value::Null).map(drop)
    }

    /// Deletes what is at a path, which may say how.
    pub(crate) fn delete_at(&self, path: &str) -> Result<()> {
        self.json("DELETE", path, "", &Value::Null).map(drop)
    }

    /// Deletes all objects that tests have made at a path.
    pub(crate) fn delete_all(&self, path: &str) -> Result<()> {
        let selected = format!("{path}?labelSelector=made-by%3D{MANAGER}");
        self.json("DELETE", &selected, "", &Value::Null).map(drop)
    }

    fn json(&self, method: &str, path: &str, content: &str, body: &Value) -> Result<Value> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.request(method, path, content, &body)?;
        serde_json::from_str(&answer).with_context(|| format!("{method} {path}: no JSON: {answer}"))
    }

    /// HTTP/1.0: the answer ends with its connection.
    fn request(&self, method: &str, path: &str, content: &str, body: &str) -> Result<String> {
        let what = || format!("{method} {path}");
        let mut stream = UnixStream::connect(&self.socket).context("kubectl proxy does not listen")?;
        stream.set_read_timeout(Some(TIMEOUT)).context("no timeout")?;
        let content = if content.is_empty() { "application/json" } else { content };
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: localhost\r\nContent-Type: {content}\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all((head + body).as_bytes()).with_context(what)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).with_context(what)?;
        let (head, body) = answer.split_once("\r\n\r\n").with_context(what)?;
        match head.split(' ').nth(1) {
            Some("200" | "201" | "202") => Ok(body.to_owned()),
            _ => bail!("{method} {path}: {answer}"),
        }
    }
}

/// Where an object is: in its Namespace, or in `default`.
fn path_of(object: &Value) -> Result<String> {
    let name = object["metadata"]["name"].as_str().context("an object without a name")?;
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
    Ok(match object["kind"].as_str() {
        Some("Namespace") => format!("/api/v1/namespaces/{name}"),
        Some("Service") => format!("/api/v1/namespaces/{namespace}/services/{name}"),
        Some("Pod") => format!("/api/v1/namespaces/{namespace}/pods/{name}"),
        Some("EndpointSlice") => {
            format!("/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices/{name}")
        }
        Some("ServiceCIDR") => format!("/apis/networking.k8s.io/v1/servicecidrs/{name}"),
        Some("NetworkPolicy") => {
            format!("/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies/{name}")
        }
        other => bail!("no path is known of {other:?}"),
    })
}

pub(crate) const SERVICES: &str = "/api/v1/namespaces/default/services";
pub(crate) const ENDPOINT_SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

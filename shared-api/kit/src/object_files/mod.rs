//! A Kubernetes API that is a folder of object files: for support, for tests, and for Nodes without an API server.
//!
//! Every `.yaml` and `.json` file of the folder holds objects. They can be listed, watched, created, changed and
//! deleted as with an API server; what is written is kept in memory only. Files that change are read again.

mod files;
mod merge;
mod objects;
mod request;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::{Method, Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::watch;
use tracing::warn;

pub use files::{ObjectFileError, objects_in};
use objects::{Objects, Refusal};
use request::{Call, Selection};

/// How often the files are looked at.
const PERIOD: Duration = Duration::from_secs(1);

/// A client of the objects in a folder. A task follows the files for as long as the runtime lives.
///
/// # Errors
/// When a file cannot be read, or holds something that is no object.
pub fn client(folder: &Path) -> Result<Client, ObjectFileError> {
    let server = Server::default();
    server.change(|objects| -> Result<(), ObjectFileError> {
        objects.follow(files::read(folder)?);
        Ok(())
    })?;
    tokio::spawn(server.clone().follow(folder.to_owned()));
    let service = tower::service_fn(move |request: Request<Body>| {
        let server = server.clone();
        async move { Ok::<_, Infallible>(server.answer(request).await) }
    });
    Ok(Client::new(service, "default"))
}

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// The API server: its objects, and the version that they have.
#[derive(Clone)]
struct Server {
    objects: Arc<Mutex<Objects>>,
    version: watch::Sender<u64>,
}

impl Default for Server {
    fn default() -> Self {
        Self { objects: Arc::default(), version: watch::Sender::new(0) }
    }
}

impl Server {
    fn objects(&self) -> MutexGuard<'_, Objects> {
        // Each change leaves the objects whole, whatever panicked.
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the objects and wakes those who watch them.
    fn change<T>(&self, change: impl FnOnce(&mut Objects) -> T) -> T {
        let (outcome, version) = {
            let mut objects = self.objects();
            (change(&mut objects), objects.version())
        };
        self.version.send_replace(version);
        outcome
    }

    async fn follow(self, folder: PathBuf) {
        let mut told = None;
        loop {
            tokio::time::sleep(PERIOD).await;
            match files::read(&folder) {
                Ok(read) => {
                    self.change(|objects| objects.follow(read));
                    told = None;
                }
                Err(error) => {
                    let text = error.to_string();
                    if told.as_ref() != Some(&text) {
                        warn!(error = %crate::logging::chain(&error), "Object files are left as they were read before");
                        told = Some(text);
                    }
                }
            }
        }
    }

    async fn answer(&self, request: Request<Body>) -> Answer {
        let (head, body) = request.into_parts();
        let call = match Call::parse(head.uri.path(), head.uri.query()) {
            Ok(call) => call,
            Err(refusal) => return refused(&refusal),
        };
        if call.watches() {
            return self.watch(call);
        }
        let body = match body.collect().await {
            Ok(body) => body.to_bytes(),
            Err(_) => return refused(&Refusal::bad_request("the body cannot be read")),
        };
        match self.carry_out(&head.method, &call, &body) {
            Ok((status, object)) => respond(status, &object),
            Err(refusal) => refused(&refusal),
        }
    }

    fn carry_out(&self, method: &Method, call: &Call, body: &[u8]) -> Result<(StatusCode, Value), Refusal> {
        let given = || {
            serde_json::from_slice::<Value>(body)
                .map_err(|_| Refusal::bad_request("the body is no JSON object"))
        };
        let object = match (method.as_str(), &call.selection) {
            ("GET", Selection::One(key)) => self.objects().get(key)?,
            ("GET", Selection::Many(many)) => self.objects().list(many),
            ("POST", Selection::Many(many)) => {
                let object = given()?;
                let created = self.change(|objects| objects.create(many, object))?;
                return Ok((StatusCode::CREATED, created));
            }
            ("PUT", Selection::One(key)) => {
                let object = given()?;
                self.change(|objects| objects.replace(key, object))?
            }
            ("PATCH", Selection::One(key)) => {
                let patch = given()?;
                self.change(|objects| objects.patch(key, &patch))?
            }
            ("DELETE", Selection::One(key)) => self.change(|objects| objects.delete(key))?,
            _ => return Err(Refusal::method_not_allowed(method)),
        };
        Ok((StatusCode::OK, object))
    }

    /// The changes since the version that the caller knows, and those to come, one JSON object a line.
    fn watch(&self, call: Call) -> Answer {
        let state = (self.clone(), self.version.subscribe(), call);
        let events = stream::unfold(state, |(server, mut version, mut call): (Self, _, Call)| async move {
            loop {
                version.borrow_and_update();
                let events = server.objects().events_since(&mut call);
                if !events.is_empty() {
                    let lines: String = events.iter().map(|event| format!("{event}\n")).collect();
                    return Some((Ok(Frame::data(Bytes::from(lines))), (server, version, call)));
                }
                version.changed().await.ok()?;
            }
        });
        Response::new(StreamBody::new(events).boxed_unsync())
    }
}

fn respond(status: StatusCode, object: &Value) -> Answer {
    let mut response = Response::new(Full::new(Bytes::from(object.to_string())).boxed_unsync());
    *response.status_mut() = status;
    response
}

fn refused(refusal: &Refusal) -> Answer {
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure",
        "code": refusal.code.as_u16(), "reason": refusal.reason, "message": refusal.message,
    });
    respond(refusal.code, &status)
}

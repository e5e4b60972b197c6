//! A connection to a server that does what a real one does rarely.

use serde_json::json;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixListener;

use super::*;
use crate::ovsdb::client::OvsDb;
use crate::ovsdb::error::OvsDbError;

const BRIDGE: &str = "9cf237dc-832b-4bb2-9253-8e3f7b64ef7f";

/// A server with one client at a time.
struct FakeServer {
    listener: UnixListener,
    socket: UnixStream,
    framer: Framer,
}

impl FakeServer {
    /// A server, and a client that connects to it.
    async fn start(directory: &TempDir) -> (Self, tokio::task::JoinHandle<OvsDb>) {
        let path = directory.path().join("db.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let client = tokio::spawn(OvsDb::connect(path));
        let (socket, _) = listener.accept().await.unwrap();
        (Self { listener, socket, framer: Framer::default() }, client)
    }

    /// Closes the connection and waits for the next.
    async fn accept_again(&mut self) {
        self.socket.shutdown().await.unwrap();
        (self.socket, _) = self.listener.accept().await.unwrap();
        self.framer = Framer::default();
    }

    async fn receive(&mut self) -> Value {
        loop {
            if let Some(frame) = self.framer.next_frame().unwrap() {
                return serde_json::from_slice(frame).unwrap();
            }
            let mut buffer = Vec::new();
            assert_ne!(self.socket.read_buf(&mut buffer).await.unwrap(), 0, "the client has gone");
            self.framer.extend(&buffer);
        }
    }

    async fn send(&mut self, message: &Value) {
        self.socket.write_all(message.to_string().as_bytes()).await.unwrap();
    }

    /// Answers a request for `method`.
    async fn answer(&mut self, method: &str, result: &Value, error: &Value) {
        let request = self.receive().await;
        assert_eq!(request["method"], method);
        self.send(&json!({"id": request["id"], "result": result, "error": error})).await;
    }
}

fn bridge(name: &str) -> Value {
    json!({"Bridge": {BRIDGE: {"initial": {"name": name}}}})
}

#[tokio::test]
async fn an_old_server_is_monitored_in_the_old_way() {
    let directory = TempDir::new().unwrap();
    let (mut server, client) = FakeServer::start(&directory).await;
    server.answer("monitor_cond_since", &Value::Null, &json!("unknown method")).await;
    server.answer("monitor_cond", &bridge("br-old"), &Value::Null).await;
    let client = client.await.unwrap();
    assert!(client.snapshot().bridge("br-old").is_some());
    let mut changed = client.changed();
    changed.mark_unchanged();
    let update = json!({"Bridge": {BRIDGE: {"modify": {"datapath_type": "netdev"}}}});
    server.send(&json!({"id": null, "method": "update2", "params": ["Open_vSwitch", update]})).await;
    changed.changed().await.unwrap();
    assert_eq!(client.snapshot().bridge("br-old").unwrap().datapath_type, "netdev");
}

#[tokio::test]
async fn the_probe_of_the_server_is_answered() {
    let directory = TempDir::new().unwrap();
    let (mut server, client) = FakeServer::start(&directory).await;
    server.send(&json!({"id": "echo", "method": "echo", "params": []})).await;
    let first = server.receive().await;
    assert_eq!(first["method"], "monitor_cond_since");
    assert_eq!(server.receive().await, json!({"id": "echo", "result": [], "error": null}));
    drop(client);
}

#[tokio::test]
async fn what_is_asked_when_the_connection_breaks_fails_and_the_copy_is_made_anew() {
    let directory = TempDir::new().unwrap();
    let (mut server, client) = FakeServer::start(&directory).await;
    let last = "8e97b81c-74ff-4456-b3f2-17d7f3d8b268";
    server.answer("monitor_cond_since", &json!([false, last, bridge("br-old")]), &Value::Null).await;
    let client = client.await.unwrap();
    let asking = client.clone();
    let asked = tokio::spawn(async move { asking.transact(Transaction::new("test")).await });
    assert_eq!(server.receive().await["method"], "transact");
    server.accept_again().await;
    assert!(matches!(asked.await.unwrap(), Err(OvsDbError::ConnectionLost)));
    let request = server.receive().await;
    assert_eq!(request["params"][3], last, "only what happened since is asked for");
    let result = json!([false, last, bridge("br-new")]);
    server.send(&json!({"id": request["id"], "result": result, "error": null})).await;
    client.link().wait_for(|link| *link == Link::Up).await.unwrap();
    let names: Vec<_> = client.snapshot().bridges().map(|bridge| bridge.name.clone()).collect();
    assert_eq!(names, ["br-new"]);
}

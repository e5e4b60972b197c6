//! As much of the API server of Kubernetes as the API server of agents asks: whose a token is, and what they may.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use antrea_kit::request_body::RequestBody;
use antrea_kit::server::{Answer, Handler, Limits, Server, Slots};
use antrea_kit::status::{json_answer, status};
use anyhow::Result;
use http_body_util::{BodyExt, Limited};
use hyper::{Request, StatusCode};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// The longest review.
const LONGEST: usize = 64 << 10;

/// Answers as long as the process runs.
pub(super) async fn start() -> Result<SocketAddr> {
    let handler: Handler = Arc::new(|request| Box::pin(review(request)));
    let slots = Slots { loopback: 8192, ..Limits::DEFAULT.slots };
    let limits = Limits { slots, ..Limits::DEFAULT };
    let server = Server::bind((Ipv4Addr::LOCALHOST, 0).into(), None, limits, handler).await?;
    let address = server.local_addr();
    tokio::spawn(server.run(CancellationToken::new()));
    Ok(address)
}

async fn review(request: Request<RequestBody>) -> Answer {
    let body = Limited::new(request.into_body(), LONGEST).collect().await.ok();
    let review = body.and_then(|body| serde_json::from_slice::<Value>(&body.to_bytes()).ok());
    let Some(mut review) = review else { return status(StatusCode::BAD_REQUEST, "no review") };
    review["status"] = match &review["spec"]["token"] {
        Value::String(token) => json!({"authenticated": true, "user": agent(token)}),
        // Without a user it is what everybody may.
        _ => json!({"allowed": !review["spec"]["user"].is_null()}),
    };
    json_answer(StatusCode::CREATED, &review)
}

/// The ServiceAccount of agents.
pub(super) const USER: &str = "system:serviceaccount:kube-system:antrea-agent";

/// That ServiceAccount, and the Pod that the token is bound to.
fn agent(token: &str) -> Value {
    let node = token.strip_prefix("token-of-").unwrap_or(token);
    json!({
        "username": USER,
        "uid": "5b3a4c0e-6c3c-4d9e-9a38-0d5a9a8f5f5e",
        "groups": [
            "system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated",
        ],
        "extra": {
            "authentication.kubernetes.io/credential-id": [format!("JTI={token}")],
            "authentication.kubernetes.io/node-name": [node],
            "authentication.kubernetes.io/node-uid": [node],
            "authentication.kubernetes.io/pod-name": [token],
            "authentication.kubernetes.io/pod-uid": [token],
        },
    })
}

//! What a member does while its API server refuses to list a kind.

use hyper::{Request, Response};
use kube::Client;
use kube::client::Body;

use super::lab::{Lab, derived};

#[tokio::test]
async fn services_are_imported_by_a_member_that_may_not_read_tiers() {
    let mut lab = Lab::new("https://seventeen").await;
    lab.is_joined().await;
    lab.end().await;
    lab.delete(&derived()).await;
    lab.local = without_tiers(lab.local.clone());
    lab.start();
    lab.is_joined().await;
    lab.end().await;
}

fn without_tiers(files: Client) -> Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        let files = files.clone();
        async move {
            if !request.uri().path().ends_with("/tiers") {
                return files.send(request).await;
            }
            let status = r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "may not"}"#;
            Ok(Response::builder().status(403).body(Body::from(status.as_bytes().to_vec())).unwrap())
        }
    });
    Client::new(service, "default")
}

//! `deploy`: what the API server is asked for, and what it says.

use std::sync::{Arc, Mutex};

use http_body_util::BodyExt;
use hyper::{Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;

use super::Lab;
use crate::cluster::Cluster;

/// A cluster without Namespaces that takes what is applied, and what it was asked for.
fn lab() -> (Lab, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    let service = tower::service_fn(move |request: Request<Body>| {
        let log = Arc::clone(&log);
        async move {
            let (parts, body) = request.into_parts();
            log.lock().unwrap().push(format!("{} {}", parts.method, parts.uri));
            if parts.method == "GET" {
                let status =
                    br#"{"kind": "Status", "status": "Failure", "message": "not found", "code": 404}"#;
                let answer = Response::builder().status(StatusCode::NOT_FOUND);
                return answer.body(Body::from(status.to_vec()));
            }
            let body = body.collect().await.unwrap().to_bytes();
            Ok(Response::new(Body::from(body.to_vec())))
        }
    });
    let lab = Lab::new("");
    let cluster = Cluster { client: Client::new(service, "default"), ..lab.cluster };
    (Lab { cluster, ..lab }, asked)
}

#[tokio::test]
async fn everything_is_applied_in_the_namespace_that_was_named() {
    let (lab, asked) = lab();
    insta::assert_snapshot!(lab.run("deploy leadercluster -n mc").await);
    insta::assert_snapshot!(asked.lock().unwrap().join("\n"));
}

#[tokio::test]
async fn a_member_is_in_kube_system_unless_told_otherwise() {
    let (lab, asked) = lab();
    let said = lab.run("deploy membercluster").await;
    assert!(said.starts_with("Namespace \"kube-system\" created\n"), "{said}");
    let asked = asked.lock().unwrap().join("\n");
    assert!(asked.contains("/namespaces/kube-system/deployments/antrea-mc-controller?"), "{asked}");
    assert!(asked.contains("/validatingwebhookconfigurations/antrea-mc-validating-webhook-configuration?"));
}

#[tokio::test]
async fn another_manifest_comes_from_a_file() {
    let (lab, asked) = lab();
    let manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: kube-system}}";
    std::fs::write(lab.path().join("member.yml"), manifest).unwrap();
    assert_eq!(
        lab.run("deploy membercluster -n mc -f DIR/member.yml").await,
        "Namespace \"mc\" created\nConfigMap \"a\" applied\n\
         Wait for it: kubectl -n mc rollout status deployment/antrea-mc-controller\n"
    );
    assert_eq!(asked.lock().unwrap().len(), 4, "the ClusterSet is asked for, too");
    assert_eq!(
        lab.run("deploy leadercluster -n other -f DIR/member.yml").await,
        "Error: DIR/member.yml cannot be used: the manifest has nothing for Namespace antrea-multicluster or other: \
         is it that of a Leader?\n"
    );
}

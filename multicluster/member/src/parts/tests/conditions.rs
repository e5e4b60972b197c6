//! Conditions that others write on the objects of a member.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::Method;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::client::Body;
use kube::{Api, Client};
use serde_json::{Value, json};

use super::lab::Lab;
use crate::kind::Kind;
use crate::objects::{Key, at, text};

/// Somebody who says something of the ServiceExport `early` when the member is about to: between its look at it and its
/// patch.
fn meddled_with(files: Client) -> Client {
    let is_first = Arc::new(AtomicBool::new(true));
    let service = tower::service_fn(move |request: hyper::Request<Body>| {
        let (files, is_first) = (files.clone(), is_first.clone());
        async move {
            let is_told = request.method() == Method::PATCH
                && request.uri().path().ends_with("/serviceexports/early/status");
            if is_told && is_first.swap(false, Ordering::SeqCst) {
                let resource = Kind::ServiceExport.resource();
                let exports: Api<DynamicObject> = Api::namespaced_with(files.clone(), "shop", &resource);
                let mine = json!({ "status": { "conditions": [{
                    "type": "Mine", "status": "True", "reason": "Mine", "message": "",
                    "lastTransitionTime": "2026-11-21T10:00:00Z",
                }] } });
                exports.patch_status("early", &PatchParams::default(), &Patch::Merge(mine)).await?;
            }
            files.send(request).await
        }
    });
    Client::new(service, "default")
}

#[tokio::test]
async fn a_condition_that_somebody_else_writes_meanwhile_stays() {
    let mut lab = Lab::new("https://conditions").await;
    lab.is_joined().await;
    lab.end().await;
    let export = json!({
        "apiVersion": "multicluster.x-k8s.io/v1beta1",
        "kind": "ServiceExport",
        "metadata": { "name": "early", "namespace": "shop" },
    });
    lab.create(Kind::ServiceExport, &export).await;
    lab.local = meddled_with(lab.local.clone());
    lab.start();
    let has_all = |export: Option<&Value>| {
        let conditions = export.and_then(|export| at(export, "/status/conditions")?.as_array());
        let types: Vec<&str> = conditions.into_iter().flatten().map(|of| text(of, "/type")).collect();
        ["Mine", "Valid", "Ready"].iter().all(|wanted| types.contains(wanted))
    };
    lab.wait(&Key::new(Kind::ServiceExport, "shop", "early"), has_all).await;
    lab.end().await;
}

//! ServiceCIDRs as they come from the API server, if it has them: those before Kubernetes 1.33 do not know the kind.

use std::time::Duration;

use antrea_agent_proxy::service_cidr::parse;
use antrea_kit::backoff::{Backoff, jitter};
use antrea_kit::kube_client::{bounded, status_code};
use antrea_kit::watch::{WatchEvent, watch};
use ipnet::IpNet;
use k8s_openapi::api::networking::v1::ServiceCIDR;
use kube::Api;
use kube::api::ListParams;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::away::is_away;

/// The name of a ServiceCIDR, and its networks.
pub(crate) type Named = (Box<str>, Vec<IpNet>);

/// An API server that refuses is asked again after this time, and later after longer ones: it may be replaced by one that
/// knows the kind, or be told to allow it.
const FIRST_RETRY: Duration = Duration::from_secs(10);
const LAST_RETRY: Duration = Duration::from_secs(300);

/// Watches until `stop` or until nobody receives. As long as the API server refuses, there are none.
pub(super) async fn watch_service_cidrs(
    api: Api<ServiceCIDR>,
    events: mpsc::Sender<WatchEvent<Named>>,
    stop: CancellationToken,
) {
    let mut while_away = Backoff::new(Duration::from_millis(500), Duration::from_secs(10));
    let mut refused = Backoff::new(FIRST_RETRY, LAST_RETRY);
    while let Some(listed) = stop.run_until_cancelled(bounded(api.list(&ListParams::default()))).await {
        let pause = match listed {
            Ok(list) => {
                if !refused.is_fresh() {
                    info!("The API server tells of ServiceCIDRs now");
                }
                let all = list.items.iter().map(parse).collect();
                if events.send(WatchEvent::Resynced(all)).await.is_ok() {
                    // It lasts until `stop`, and says itself what goes wrong.
                    watch(api, Default::default(), |object| Some(parse(&object)), events, stop).await.ok();
                }
                return;
            }
            Err(error) if is_away(&error) => while_away.wait(jitter()),
            Err(error) => {
                if refused.is_fresh() {
                    tell(&error);
                }
                if events.send(WatchEvent::Resynced(Vec::new())).await.is_err() {
                    return;
                }
                refused.wait(jitter())
            }
        };
        stop.run_until_cancelled(tokio::time::sleep(pause)).await;
    }
}

fn tell(error: &anyhow::Error) {
    let instead = "the kernel gets routes to the ClusterIPs that there are, 8 of each family at most";
    if status_code(error) == Some(404) {
        info!(instead, "The API server does not know ServiceCIDRs, which came with Kubernetes 1.33");
    } else {
        warn!(
            error = format!("{error:#}"),
            instead, "ServiceCIDRs cannot be listed; the ClusterRole antrea-agent of the chart allows it"
        );
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU16, Ordering};

    use http_body_util::Full;
    use hyper::body::Bytes;
    use hyper::{Request, Response};
    use kube::Client;
    use kube::client::Body;
    use serde_json::json;

    use super::*;

    /// Answers with this status, and with one ServiceCIDR where that is 200. A watch of them ends at once.
    fn api(status: &Arc<AtomicU16>) -> Api<ServiceCIDR> {
        let status = Arc::clone(status);
        let service = tower::service_fn(move |request: Request<Body>| {
            let code = status.load(Ordering::SeqCst);
            assert_eq!(request.uri().path(), "/apis/networking.k8s.io/v1/servicecidrs");
            let watches = request.uri().query().is_some_and(|query| query.contains("watch=true"));
            let body = match code {
                200 if watches => String::new(),
                200 => json!({
                    "apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDRList",
                    "metadata": {"resourceVersion": "1"},
                    "items": [{"metadata": {"name": "kubernetes"}, "spec": {"cidrs": ["10.96.0.0/12"]}}],
                })
                .to_string(),
                _ => json!({"kind": "Status", "status": "Failure", "code": code, "reason": "no", "message": "no"})
                    .to_string(),
            };
            let mut response = Response::new(Full::new(Bytes::from(body)));
            *response.status_mut() = code.try_into().unwrap();
            async move { Ok::<_, Infallible>(response) }
        });
        Api::all(Client::new(service, "default"))
    }

    fn kubernetes() -> WatchEvent<Named> {
        WatchEvent::Resynced(vec![("kubernetes".into(), vec!["10.96.0.0/12".parse().unwrap()])])
    }

    #[tokio::test(start_paused = true)]
    async fn there_are_none_until_the_api_server_knows_them_and_may_tell() {
        let status = Arc::new(AtomicU16::new(404));
        let (events, mut received) = mpsc::channel(8);
        let stop = CancellationToken::new();
        let watching = tokio::spawn(watch_service_cidrs(api(&status), events, stop.clone()));
        assert_eq!(received.recv().await, Some(WatchEvent::Resynced(Vec::new())));
        status.store(403, Ordering::SeqCst);
        assert_eq!(received.recv().await, Some(WatchEvent::Resynced(Vec::new())));
        status.store(200, Ordering::SeqCst);
        assert_eq!(received.recv().await, Some(kubernetes()));
        stop.cancel();
        watching.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn an_api_server_that_is_away_says_nothing_of_them() {
        let status = Arc::new(AtomicU16::new(503));
        let (events, mut received) = mpsc::channel(8);
        let stop = CancellationToken::new();
        tokio::spawn(watch_service_cidrs(api(&status), events, stop.clone()));
        let silence = tokio::time::timeout(Duration::from_secs(60), received.recv()).await;
        assert!(silence.is_err(), "{silence:?}");
        status.store(200, Ordering::SeqCst);
        assert_eq!(received.recv().await, Some(kubernetes()));
        stop.cancel();
    }
}

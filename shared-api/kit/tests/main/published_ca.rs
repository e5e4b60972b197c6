//! A published certificate, and leaders elected, on a folder of object files as an API server.

use std::time::Duration;

use antrea_kit::ca_publisher::{self, Publication};
use antrea_kit::leases::{Elector, Leadership, Terms};
use antrea_kit::object_files;
use antrea_kit::watchdog::Watchdog;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

const SOON: Duration = Duration::from_secs(20);

fn api_server() -> (TempDir, Client) {
    let folder = tempfile::tempdir().unwrap();
    let client = object_files::client(folder.path()).unwrap();
    (folder, client)
}

async fn until_published(maps: &Api<ConfigMap>) {
    let published = async {
        while maps.get_opt("antrea-ca").await.unwrap().and_then(|map| map.data?.remove("ca.crt"))
            != Some("CA".to_owned())
        {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, published).await.expect("it was not published");
}

#[tokio::test]
async fn a_published_certificate_comes_back_when_it_is_edited_or_deleted() {
    let (_folder, client) = api_server();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-system");
    let publication = Publication {
        namespace: "kube-system".into(),
        name: "antrea-ca".into(),
        ca_pem: "CA".into(),
        field_manager: "antrea-controller",
    };
    let stop = CancellationToken::new();
    let publishing = tokio::spawn(ca_publisher::run(client, publication, stop.clone()));
    until_published(&maps).await;
    let edit = Patch::Merge(json!({"data": {"ca.crt": "another"}}));
    maps.patch("antrea-ca", &PatchParams::default(), &edit).await.unwrap();
    until_published(&maps).await;
    maps.delete("antrea-ca", &DeleteParams::default()).await.unwrap();
    until_published(&maps).await;
    stop.cancel();
    timeout(SOON, publishing).await.unwrap().unwrap().unwrap();
}

/// A process that takes part in an election, and whether it leads.
fn elector(client: &Client, terms: Terms, worker: Watchdog) -> (Elector, watch::Receiver<Leadership>) {
    let (told, leadership) = watch::channel(Leadership::Following);
    (Elector::new(client.clone(), "kube-system", "lease", terms, worker, told), leadership)
}

fn leads(leadership: &Leadership) -> bool {
    *leadership == Leadership::Leading
}

#[tokio::test]
async fn certificates_that_follow_others_are_published_in_their_place() {
    let (_folder, client) = api_server();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-system");
    let publication = Publication {
        namespace: "kube-system".into(),
        name: "antrea-ca".into(),
        ca_pem: "former".into(),
        field_manager: "antrea-controller",
    };
    let (others, certificates) = watch::channel(String::new());
    let stop = CancellationToken::new();
    let publishing = tokio::spawn(ca_publisher::follow(client, publication, certificates, stop.clone()));
    let published = async {
        while maps.get_opt("antrea-ca").await.unwrap().is_none() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, published).await.expect("it was not published");
    others.send_replace("CA".to_owned());
    until_published(&maps).await;
    stop.cancel();
    timeout(SOON, publishing).await.expect("it does not end").unwrap().unwrap();
}

#[tokio::test]
async fn of_two_processes_one_leads_and_the_other_follows_it_at_once() {
    let (_folder, client) = api_server();
    let terms = |identity: &str| Terms { retry_period: Duration::from_millis(50), ..Terms::usual(identity) };
    let elector = |identity| elector(&client, terms(identity), Watchdog::new(SOON * 3));
    let stop = CancellationToken::new();
    let (first, mut first_leads) = elector("first");
    let first = tokio::spawn(first.run(stop.clone()));
    timeout(SOON, first_leads.wait_for(leads)).await.expect("nobody leads").unwrap();
    let (second, mut second_leads) = elector("second");
    tokio::spawn(second.run(CancellationToken::new()));
    let both = timeout(Duration::from_millis(500), second_leads.wait_for(leads)).await.is_ok();
    assert!(!both, "both lead");
    stop.cancel();
    first.await.unwrap().unwrap();
    timeout(Duration::from_secs(5), second_leads.wait_for(leads)).await.expect("nobody follows").unwrap();
    let lease = Api::<Lease>::namespaced(client, "kube-system").get("lease").await.unwrap().spec.unwrap();
    assert_eq!(lease.holder_identity.as_deref(), Some("second"));
    assert_eq!(lease.lease_transitions, Some(1));
}

#[tokio::test]
async fn a_process_whose_work_is_stuck_loses_the_lease_to_another() {
    let (_folder, client) = api_server();
    let terms = |identity: &str| Terms {
        lease_duration: Duration::from_secs(2),
        renew_deadline: Duration::from_secs(1),
        retry_period: Duration::from_millis(50),
        ..Terms::usual(identity)
    };
    let worker = Watchdog::new(Duration::from_secs(1));
    let beating = tokio::spawn({
        let worker = worker.clone();
        async move {
            loop {
                worker.beat();
                sleep(Duration::from_millis(10)).await;
            }
        }
    });
    let (stuck, mut stuck_leads) = elector(&client, terms("stuck"), worker);
    tokio::spawn(stuck.run(CancellationToken::new()));
    timeout(SOON, stuck_leads.wait_for(leads)).await.expect("nobody leads").unwrap();
    beating.abort();
    timeout(SOON, stuck_leads.wait_for(|leadership| !leads(leadership))).await.expect("it goes on").unwrap();
    let (other, mut other_leads) = elector(&client, terms("other"), Watchdog::new(SOON * 3));
    tokio::spawn(other.run(CancellationToken::new()));
    timeout(SOON, other_leads.wait_for(leads)).await.expect("nobody takes over").unwrap();
}

//! Exports come and go all the time: once it is quiet, there is what a merge of what is exported then makes from nothing.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use antrea_mc_leader::{Given, merge};
use antrea_shared_api::multicluster::Condition;
use antrea_shared_api::multicluster::v1alpha1::{ResourceExport, ResourceImport, ResourceImportSpec};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Error};
use serde_json::{Value, json};
use tokio::time::{Instant, interval, sleep};

use crate::cluster::{Cluster, export};

const AREA: &str = "area-1";
const CLUSTERS: u64 = 6;
const SERVICES: u64 = 20;
const CHANGES: u32 = 500;
/// 50 a second.
const PAUSE: Duration = Duration::from_millis(20);

/// Numbers that look like chance and are the same for one seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// Members that change their minds.
struct Members<'a> {
    cluster: &'a Cluster,
    dice: Dice,
    /// With the second of the ServiceExport, which stays as long as that does.
    exported: BTreeMap<(u64, u64), u64>,
}

impl Members<'_> {
    /// Somebody exports a Service, or does not any more, or exports it otherwise.
    async fn change(&mut self) {
        let of = (self.dice.below(CLUSTERS), self.dice.below(SERVICES));
        let new = self.dice.below(60);
        let since = self.exported.get(&of).copied().unwrap_or(new);
        let payloads = [("Service", self.service(of.0, since)), ("Endpoints", self.endpoints(of.0))];
        let exports: Api<ResourceExport> = self.cluster.api(AREA);
        let service = format!("web{}", of.1);
        let [first, second] =
            payloads.map(|(kind, payload)| export(AREA, &format!("c{}", of.0), (kind, &service), &payload));
        if self.exported.insert(of, since).is_none() {
            create(&exports, first).await;
            create(&exports, second).await;
            return;
        }
        match self.dice.below(4) {
            0 => replace(&exports, &first).await,
            1 => replace(&exports, &second).await,
            _ => {
                self.exported.remove(&of);
                for export in [&second, &first] {
                    exports.delete(&name(export), &DeleteParams::default()).await.unwrap();
                }
            }
        }
    }

    /// Members with an odd number are upstream's, and say less.
    fn service(&mut self, cluster: u64, since: u64) -> Value {
        let spec = json!({ "ports": self.ports() });
        if cluster % 2 == 1 {
            return json!({ "serviceSpec": spec });
        }
        let created = format!("2026-11-21T09:00:{since:02}Z");
        let kind = if self.dice.below(5) == 0 { "Headless" } else { "ClusterSetIP" };
        json!({ "serviceSpec": spec, "origin": { "creationTimestamp": created, "type": kind } })
    }

    /// Now and then with an address that another cluster has.
    fn endpoints(&mut self, cluster: u64) -> Value {
        let network = if self.dice.below(5) == 0 { self.dice.below(CLUSTERS) } else { cluster };
        let addresses =
            [cluster, network].map(|of| json!({ "ip": format!("10.{of}.0.{}", self.dice.below(9)) }));
        json!({ "subsets": [{ "addresses": addresses, "ports": self.ports() }] })
    }

    fn ports(&mut self) -> Value {
        let port = |name: &str, number: u16| json!({ "name": name, "port": number, "protocol": "TCP" });
        match self.dice.below(4) {
            0 => json!([port("http", 8080)]),
            1 => json!([port("http", 80), port("https", 443)]),
            _ => json!([port("http", 80)]),
        }
    }
}

fn name(export: &ResourceExport) -> String {
    export.metadata.name.clone().unwrap()
}

/// As a member does: what was deleted comes back once the leader has let it go.
async fn create(exports: &Api<ResourceExport>, mut export: ResourceExport) {
    export.metadata.creation_timestamp = Some(Time(Timestamp::now()));
    let began = Instant::now();
    while let Err(error) = exports.create(&PostParams::default(), &export).await {
        assert!(matches!(&error, Error::Api(status) if status.code == 409), "{error}");
        assert!(began.elapsed() < Duration::from_secs(20), "{} is never let go", name(&export));
        sleep(Duration::from_millis(10)).await;
    }
}

async fn replace(exports: &Api<ResourceExport>, export: &ResourceExport) {
    let patch = Patch::Merge(json!({ "spec": export.spec }));
    exports.patch(&name(export), &PatchParams::default(), &patch).await.unwrap();
}

/// What is imported, and what each exporter is told, without times.
type Result = (BTreeMap<String, ResourceImportSpec>, BTreeMap<String, Vec<Condition>>);

fn undated(mut conditions: Vec<Condition>) -> Vec<Condition> {
    conditions.iter_mut().for_each(|condition| condition.last_transition_time = None);
    conditions
}

async fn written(cluster: &Cluster) -> Result {
    let all = ListParams::default();
    let imports = cluster.api::<ResourceImport>(AREA).list(&all).await.unwrap();
    let exports = cluster.api::<ResourceExport>(AREA).list(&all).await.unwrap();
    let imports = imports.into_iter().map(|import| (import.metadata.name.unwrap(), import.spec));
    let told = exports.into_iter().map(|export| {
        let conditions = export.status.clone().unwrap_or_default().conditions;
        (name(&export), undated(conditions))
    });
    (imports.collect(), told.collect())
}

async fn from_scratch(cluster: &Cluster) -> Result {
    let all = ListParams::default();
    let exports = cluster.api(AREA).list(&all).await.unwrap().items;
    let announces = cluster.api(AREA).list(&all).await.unwrap().items;
    let given = Given { exports, announces, ..Given::default() };
    let merged = merge(AREA, given, Timestamp::now());
    let imports = merged.imports.into_iter().map(|(name, import)| (name, import.spec));
    let told = merged.told.into_iter().map(|(name, conditions)| (name, undated(conditions)));
    (imports.collect(), told.collect())
}

#[tokio::test]
async fn five_hundred_random_changes_come_to_what_a_merge_from_scratch_gives() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = std::env::var("SEED").map_or(now.as_secs(), |seed| seed.parse().unwrap());
    println!("once more with SEED={seed}");
    let cluster = Cluster::start();
    for number in 0..CLUSTERS {
        cluster.announce(AREA, &format!("c{number}"), &[format!("10.{number}.0.0/16")]).await;
    }
    let mut members = Members { cluster: &cluster, dice: Dice(seed), exported: BTreeMap::new() };
    let mut pace = interval(PAUSE);
    for _ in 0..CHANGES {
        pace.tick().await;
        members.change().await;
    }
    let (began, wanted) = (Instant::now(), from_scratch(&cluster).await);
    assert!(wanted.0.len() > 10 && wanted.1.len() == 2 * members.exported.len(), "{wanted:?}");
    while written(&cluster).await != wanted && began.elapsed() < Duration::from_secs(20) {
        sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(written(&cluster).await, wanted);
    cluster.end().await;
}

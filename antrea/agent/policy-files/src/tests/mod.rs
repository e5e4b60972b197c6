//! The file store against folders as they may be.

mod disks;
mod seal;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use antrea_agent_policy::{StoredObject, Watch};
use antrea_kit::logging::chain;
use antrea_shared_api::controlplane::v1beta2::{AddressGroup, NetworkPolicy};
use antrea_shared_api::meta::Metadata;
use antrea_shared_api::protobuf::encode;
use tempfile::TempDir;
use tokio::time::timeout;

use super::*;

/// A store that runs, in a folder that does not exist yet.
struct Running {
    store: FileStore,
    folder: PathBuf,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<Result<()>>,
    _parent: TempDir,
}

impl Running {
    fn start() -> Self {
        let parent = tempfile::tempdir().unwrap();
        Self::start_in(parent, "networkpolicy")
    }

    fn start_in(parent: TempDir, folder: &str) -> Self {
        let folder = parent.path().join(folder);
        let (store, stop) = (FileStore::open(&folder), CancellationToken::new());
        store.keep_only(&BTreeSet::new());
        let task = tokio::spawn(store.clone().run(stop.clone()));
        Self { store, folder, stop, task, _parent: parent }
    }

    /// Ends the store, and says what a later one finds.
    async fn restart(self) -> Found {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
        found(&self.folder).await
    }

    /// Waits until all is done.
    async fn settle(&self) {
        until("the store did not get done", || {
            // Who works on it has the second.
            lock(&self.store.wanted).is_empty() && self.store.contents.try_lock().is_ok()
        })
        .await;
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// What a store finds that starts in a folder: objects, and why they may not be all.
type Found = (Vec<String>, Vec<String>);

async fn found(folder: &Path) -> Found {
    let Loaded { objects, doubts } = FileStore::open(folder).load(Stored::All).await;
    let doubts = doubts.iter().map(|doubt| chain(doubt).replace(&format!("{}/", folder.display()), ""));
    (objects.iter().map(shown).collect(), doubts.collect())
}

/// These objects, and no others.
fn all(objects: &[&str]) -> Found {
    some(objects, &[])
}

fn some(objects: &[&str], doubts: &[&str]) -> Found {
    let owned = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect();
    (owned(objects), owned(doubts))
}

const BOTH: [&str; 2] = ["policy a generation 1", "peers g"];
const NOT_SEALED: &str = "there is no seal: an earlier agent was still storing, or there was none";
const OTHER_FILES: &str = "the files are not those that seal tells of";

fn shown(object: &StoredObject) -> String {
    match object {
        StoredObject::NetworkPolicy(policy) => {
            format!("policy {} generation {}", policy.metadata.uid, policy.metadata.generation)
        }
        StoredObject::AddressGroup(group) => format!("peers {}", group.metadata.uid),
        StoredObject::AppliedToGroup(group) => format!("targets {}", group.metadata.uid),
    }
}

fn policy_file(uid: &str) -> FileName {
    FileName::new(Watch::NetworkPolicies, uid).unwrap()
}

fn policy(uid: &str, generation: i64) -> FileChange {
    let metadata = Metadata { generation, ..Metadata::new(uid, uid) };
    FileChange::Write(policy_file(uid), encode(&NetworkPolicy { metadata, ..NetworkPolicy::default() }))
}

fn peers(uid: &str) -> FileChange {
    let group = AddressGroup { metadata: Metadata::new(uid, uid), ..AddressGroup::default() };
    FileChange::Write(FileName::new(Watch::AddressGroups, uid).unwrap(), encode(&group))
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(20), waiting).await.expect(what);
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[tokio::test]
async fn what_was_stored_is_there_after_a_restart() {
    let store = Running::start();
    store.store.change(vec![policy("b", 1), policy("a", 1), peers("g")]);
    store.store.change(vec![policy("a", 2), FileChange::Remove(policy_file("b"))]);
    store.store.change(vec![FileChange::Remove(policy_file("never-there"))]);
    assert_eq!(store.restart().await, all(&["policy a generation 2", "peers g"]));
}

#[tokio::test]
async fn only_the_agent_may_read() {
    let store = Running::start();
    store.store.change(vec![policy("a", 1)]);
    store.settle().await;
    for folder in ["", "network-policies"] {
        assert_eq!(mode(&store.file(folder)), 0o700, "{folder}");
    }
    assert_eq!(mode(&store.file("network-policies/a")), 0o600);
}

#[tokio::test]
async fn of_what_the_controller_does_not_name_any_more_nothing_stays() {
    let store = Running::start();
    store.store.change(vec![policy("a", 1), policy("b", 1), peers("g")]);
    store.settle().await;
    fs::write(store.file("network-policies/read.me"), "mine").unwrap();
    store.store.change(vec![policy("c", 1), policy("d", 1)]);
    store.store.keep_only(&BTreeSet::from([policy_file("a"), policy_file("c")]));
    store.store.change(vec![policy("e", 1)]);
    let foreign = store.file("network-policies/read.me");
    let found = store.restart().await;
    assert_eq!(found, all(&["policy a generation 1", "policy c generation 1", "policy e generation 1"]));
    assert!(!foreign.exists() || fs::read(&foreign).unwrap() == b"mine");
}

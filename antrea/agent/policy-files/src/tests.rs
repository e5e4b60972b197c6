//! The file store against folders as they may be.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use antrea_agent_policy::Watch;
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
        let task = tokio::spawn(store.clone().run(stop.clone()));
        Self { store, folder, stop, task, _parent: parent }
    }

    /// Ends the store, and says what a later one finds.
    async fn restart(self) -> Vec<String> {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
        FileStore::open(&self.folder).load().await.iter().map(shown).collect()
    }

    /// Waits until all is done.
    async fn settle(&self) {
        let idle = async {
            while !(self.store.wanted().files.is_empty() && self.store.wanted().only.is_none()) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_secs(20), idle).await.expect("the store did not get done");
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

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

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[tokio::test]
async fn what_was_stored_is_there_after_a_restart() {
    let store = Running::start();
    store.store.change(vec![policy("b", 1), policy("a", 1), peers("g")]);
    store.store.change(vec![policy("a", 2), FileChange::Remove(policy_file("b"))]);
    store.store.change(vec![FileChange::Remove(policy_file("never-there"))]);
    assert_eq!(store.restart().await, ["policy a generation 2", "peers g"]);
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
    assert_eq!(found, ["policy a generation 1", "policy c generation 1", "policy e generation 1"]);
    assert!(!foreign.exists() || fs::read(&foreign).unwrap() == b"mine");
}

#[tokio::test]
async fn a_folder_that_is_not_there_holds_nothing() {
    assert_eq!(FileStore::open(Path::new("/nonexistent/networkpolicy")).load().await, []);
}

/// Writes a file by hand beside that of policy `a`, and says what is loaded and whether the file is still there.
async fn check(name: &str, content: &[u8], loaded: &[&str], stays: bool) {
    let store = Running::start();
    store.store.change(vec![policy("a", 1)]);
    store.settle().await;
    let path = store.file(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    let parent = &store.folder;
    let found: Vec<_> = FileStore::open(parent).load().await.iter().map(shown).collect();
    assert_eq!((found, path.exists()), (loaded.iter().map(|&one| one.to_owned()).collect(), stays), "{name}");
}

#[tokio::test]
async fn damaged_files_are_left_out_and_removed() {
    let FileChange::Write(_, good) = policy("b", 1) else { panic!() };
    let rest = ["policy a generation 1"];
    check("network-policies/b", &good, &["policy a generation 1", "policy b generation 1"], true).await;
    check("network-policies/b", b"", &rest, false).await;
    check("network-policies/b", &good[..good.len() - 5], &rest, false).await;
    check("network-policies/c", &good, &rest, false).await;
    check("address-groups/b", &good, &rest, false).await;
    check("network-policies/a", b"k8s\0 nonsense", &[], false).await;
}

#[tokio::test]
async fn files_of_others_are_left_alone() {
    let rest = ["policy a generation 1"];
    check("network-policies/.unfinished", b"half", &rest, true).await;
    check("network-policies/read.me", b"mine", &rest, true).await;
    check("network-policies/folder/b", b"mine", &rest, true).await;
    check("read-me", b"mine", &rest, true).await;
}

/// A file system that is as small as files get; unmounted in the end.
struct Small(TempDir);

impl Small {
    /// None where nothing can be mounted, which is said of the test.
    fn mount(test: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        if mount(&["-t", "tmpfs", "-o", "size=64k", "tmpfs"], folder.path()) {
            return Some(Self(folder));
        }
        println!("SKIPPED {test}: it needs the right to mount");
        None
    }

    fn remount(&self, options: &str) {
        assert!(mount(&["-o", &format!("remount,{options}")], self.0.path()), "remount {options}");
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

fn mount(arguments: &[&str], folder: &Path) -> bool {
    Command::new("mount").args(arguments).arg(folder).output().is_ok_and(|output| output.status.success())
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(20), waiting).await.expect(what);
}

#[tokio::test]
async fn a_full_disk_keeps_what_was_there_and_is_tried_again() {
    let Some(disk) =
        Small::mount("policies::files::tests::a_full_disk_keeps_what_was_there_and_is_tried_again")
    else {
        return;
    };
    let (store, stop) = (FileStore::open(disk.0.path()), CancellationToken::new());
    store.change(vec![policy("a", 1), peers("g")]);
    let task = tokio::spawn(store.clone().run(stop.clone()));
    let file = disk.0.path().join("network-policies/a");
    until("the first was not stored", || file.exists()).await;
    let hog = disk.0.path().join("hog");
    let _ = fs::write(&hog, vec![1; 1 << 20]);
    store.change(vec![policy("a", 2), policy("b", 1)]);
    until("nothing was tried", || store.wanted().files.len() == 2).await;
    until("nobody was told", || *store.stored().borrow() == Some(Stored::NotAll)).await;
    let found: Vec<_> = store.load().await.iter().map(shown).collect();
    assert_eq!(found, ["policy a generation 1", "peers g"]);
    fs::remove_file(hog).unwrap();
    until("it was not tried again", || disk.0.path().join("network-policies/b").exists()).await;
    until("nobody was told", || *store.stored().borrow() == Some(Stored::All)).await;
    stop.cancel();
    task.await.unwrap().unwrap();
    let found: Vec<_> = store.load().await.iter().map(shown).collect();
    assert_eq!(found, ["policy a generation 2", "policy b generation 1", "peers g"]);
}

#[tokio::test]
async fn a_disk_that_is_read_only_is_tried_again_and_only_the_last_word_counts() {
    let Some(disk) = Small::mount(
        "policies::files::tests::a_disk_that_is_read_only_is_tried_again_and_only_the_last_word_counts",
    ) else {
        return;
    };
    let (store, stop) = (FileStore::open(disk.0.path()), CancellationToken::new());
    store.change(vec![policy("a", 1), policy("b", 1)]);
    let task = tokio::spawn(store.clone().run(stop.clone()));
    until("the first were not stored", || disk.0.path().join("network-policies/b").exists()).await;
    disk.remount("ro");
    store.keep_only(&BTreeSet::from([policy_file("a")]));
    store.change(vec![policy("a", 2)]);
    until("nothing was tried", || store.wanted().only.is_some()).await;
    store.change(vec![policy("a", 3), policy("c", 1)]);
    assert_eq!(store.load().await.len(), 2);
    disk.remount("rw");
    until("it was not tried again", || disk.0.path().join("network-policies/c").exists()).await;
    stop.cancel();
    task.await.unwrap().unwrap();
    let found: Vec<_> = store.load().await.iter().map(shown).collect();
    assert_eq!(found, ["policy a generation 3", "policy c generation 1"]);
}

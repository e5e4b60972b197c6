//! Disks that take nothing for a time.

use std::process::Command;

use super::*;

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

#[tokio::test]
async fn a_full_disk_keeps_what_was_there_and_is_tried_again() {
    let Some(disk) =
        Small::mount("policies::files::tests::a_full_disk_keeps_what_was_there_and_is_tried_again")
    else {
        return;
    };
    let (store, stop) = (FileStore::open(disk.0.path()), CancellationToken::new());
    store.keep_only(&BTreeSet::new());
    store.change(vec![policy("a", 1), peers("g")]);
    let task = tokio::spawn(store.clone().run(stop.clone()));
    let seal = disk.0.path().join("seal");
    until("the first was not stored", || seal.exists()).await;
    store.unseal().await.unwrap();
    let hog = disk.0.path().join("hog");
    let _ = fs::write(&hog, vec![1; 1 << 20]);
    store.change(vec![policy("a", 2), policy("b", 1)]);
    until("nobody was told", || *store.stored().borrow() == Some(Stored::NotAll)).await;
    assert_eq!(found(disk.0.path()).await, some(&BOTH, &[NOT_SEALED]));
    fs::remove_file(hog).unwrap();
    until("nobody was told", || *store.stored().borrow() == Some(Stored::All)).await;
    let now = all(&["policy a generation 2", "policy b generation 1", "peers g"]);
    assert_eq!(found(disk.0.path()).await, now);
    stop.cancel();
    task.await.unwrap().unwrap();
    assert_eq!(found(disk.0.path()).await, now);
}

#[tokio::test]
async fn a_disk_that_is_read_only_is_tried_again_and_only_the_last_word_counts() {
    let Some(disk) = Small::mount(
        "policies::files::tests::a_disk_that_is_read_only_is_tried_again_and_only_the_last_word_counts",
    ) else {
        return;
    };
    let (store, stop) = (FileStore::open(disk.0.path()), CancellationToken::new());
    store.keep_only(&BTreeSet::new());
    store.change(vec![policy("a", 1), policy("b", 1)]);
    let task = tokio::spawn(store.clone().run(stop.clone()));
    until("the first were not stored", || disk.0.path().join("seal").exists()).await;
    disk.remount("ro");
    // The seal stays: who changes policies has to note it elsewhere.
    assert_eq!(store.unseal().await.unwrap_err().kind(), ErrorKind::ReadOnlyFilesystem);
    assert_eq!(*store.stored().borrow(), Some(Stored::NotAll));
    store.keep_only(&BTreeSet::from([policy_file("a")]));
    store.change(vec![policy("a", 2)]);
    until("nothing was tried", || lock(&store.wanted).only.is_some()).await;
    store.change(vec![policy("a", 3), policy("c", 1)]);
    assert_eq!(found(disk.0.path()).await, all(&["policy a generation 1", "policy b generation 1"]));
    disk.remount("rw");
    until("nobody was told", || *store.stored().borrow() == Some(Stored::All)).await;
    stop.cancel();
    task.await.unwrap().unwrap();
    assert_eq!(found(disk.0.path()).await, all(&["policy a generation 3", "policy c generation 1"]));
}

//! Whether files say all that is enforced: it is known when they do, and never said when they may not.

use super::*;

#[tokio::test]
async fn a_folder_that_is_not_there_holds_nothing_and_says_nothing() {
    assert_eq!(found(Path::new("/nonexistent/networkpolicy")).await, some(&[], &[NOT_SEALED]));
}

#[tokio::test]
async fn that_there_are_no_policies_is_stored_too() {
    assert_eq!(Running::start().restart().await, all(&[]));
}

/// What is found after something was done to the files of policy `a` and AddressGroup `g`.
async fn check(damage: impl FnOnce(&Running), objects: &[&str], doubts: &[&str]) {
    let store = Running::start();
    store.store.change(vec![policy("a", 1), peers("g")]);
    store.settle().await;
    assert_eq!(found(&store.folder).await, all(&BOTH));
    damage(&store);
    assert_eq!(found(&store.folder).await, some(objects, doubts));
}

const POLICY: [&str; 1] = ["policy a generation 1"];
const PEERS: [&str; 1] = ["peers g"];

/// The same after a file was written by hand.
async fn check_written(name: &str, content: &[u8], objects: &[&str], doubts: &[&str]) {
    let write = |store: &Running| {
        let path = store.file(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    check(write, objects, doubts).await;
}

#[tokio::test]
async fn damaged_files_are_left_out_and_told() {
    let FileChange::Write(_, good) = policy("a", 1) else { panic!() };
    let FileChange::Write(_, newer) = policy("a", 2) else { panic!() };
    let no_protobuf = "network-policies/a is damaged: it is no protobuf of Kubernetes";
    check_written("network-policies/a", b"", &PEERS, &[no_protobuf]).await;
    check_written("network-policies/a", b"nonsense", &PEERS, &[no_protobuf]).await;
    let cut_off = "network-policies/a is damaged: it is cut off";
    check_written("network-policies/a", &good[..good.len() - 5], &PEERS, &[cut_off]).await;
    check_written("network-policies/a", &newer, &["policy a generation 2", "peers g"], &[OTHER_FILES]).await;
    let of_another = ["network-policies/c is damaged: it is of another object"];
    check_written("network-policies/c", &good, &BOTH, &of_another).await;
}

#[tokio::test]
async fn files_that_are_lost_or_cannot_be_read_are_told() {
    check(|store| fs::remove_file(store.file("address-groups/g")).unwrap(), &POLICY, &[OTHER_FILES]).await;
    check(|store| fs::remove_dir_all(store.file("address-groups")).unwrap(), &POLICY, &[OTHER_FILES]).await;
    check(|store| fs::remove_file(store.file("seal")).unwrap(), &BOTH, &[NOT_SEALED]).await;
    let unreadable = "cannot read address-groups: Not a directory (os error 20)";
    let no_folder = |store: &Running| {
        fs::remove_dir_all(store.file("address-groups")).unwrap();
        fs::write(store.file("address-groups"), "").unwrap();
    };
    check(no_folder, &POLICY, &[unreadable]).await;
    check(|store| fs::remove_dir_all(&store.folder).unwrap(), &[], &[NOT_SEALED]).await;
}

#[tokio::test]
async fn files_of_others_are_left_alone() {
    for (name, content) in [
        ("network-policies/.unfinished", "half"),
        ("network-policies/read.me", "mine"),
        ("network-policies/folder/b", "mine"),
        ("read-me", "mine"),
    ] {
        check_written(name, content.as_bytes(), &BOTH, &[]).await;
    }
}

#[tokio::test]
async fn what_is_noted_elsewhere_counts_whatever_files_say() {
    let store = Running::start();
    store.settle().await;
    let doubts = FileStore::open(&store.folder).load(Stored::NotAll).await.doubts;
    assert!(matches!(doubts.as_slice(), [Doubt::Noted]), "{doubts:?}");
}

#[tokio::test]
async fn files_do_not_count_from_before_a_change_until_it_is_stored() {
    let store = Running::start();
    store.store.change(vec![policy("a", 1)]);
    store.settle().await;
    for _ in 0..2 {
        store.store.unseal().await.unwrap();
        assert_eq!(found(&store.folder).await, some(&POLICY, &[NOT_SEALED]));
    }
    // What was to be done before is not all.
    store.store.keep_only(&BTreeSet::from([policy_file("a")]));
    store.settle().await;
    assert_eq!(found(&store.folder).await, some(&POLICY, &[NOT_SEALED]));
    store.store.change(vec![peers("g")]);
    assert_eq!(store.restart().await, all(&BOTH));
}

#[tokio::test]
async fn a_change_that_changes_nothing_seals_files_again() {
    let store = Running::start();
    store.settle().await;
    store.store.unseal().await.unwrap();
    store.store.change(Vec::new());
    assert_eq!(store.restart().await, all(&[]));
}

#[tokio::test]
async fn files_that_were_loaded_count_with_what_changes_and_those_in_doubt_only_once_compared() {
    for (seal, compared, doubts) in
        [(true, false, vec![]), (false, false, vec![NOT_SEALED]), (false, true, vec![])]
    {
        let store = Running::start();
        store.store.change(vec![policy("a", 1)]);
        store.settle().await;
        if !seal {
            fs::remove_file(store.file("seal")).unwrap();
        }
        let (later, stop) = (FileStore::open(&store.folder), CancellationToken::new());
        later.load(Stored::All).await;
        later.unseal().await.unwrap();
        if compared {
            later.keep_only(&BTreeSet::from([policy_file("a")]));
        }
        later.change(vec![peers("g")]);
        stop.cancel();
        later.run(stop).await.unwrap();
        assert_eq!(found(&store.folder).await, some(&BOTH, &doubts), "{seal} {compared}");
    }
}

#[tokio::test]
async fn a_seal_that_is_hidden_is_not_taken_for_removed() {
    let store = Running::start();
    store.settle().await;
    let aside = store.folder.with_extension("aside");
    fs::rename(&store.folder, &aside).unwrap();
    assert_eq!(store.store.unseal().await.unwrap_err().kind(), ErrorKind::NotFound);
    fs::rename(&aside, &store.folder).unwrap();
    store.store.change(vec![peers("g")]);
    assert_eq!(store.restart().await, all(&PEERS));
}

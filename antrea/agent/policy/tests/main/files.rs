//! What is kept in files, and what comes of it.

use antrea_agent_policy::{FileChange, FileName, StoredObject, Watch};

use crate::script::Script;

const POLICY: &str = "np BOOKMARK\nag BOOKMARK\natg BOOKMARK\nnp ADDED p to=x | In g Allow\nag ADDED g n/b=10.0.0.2\natg ADDED x n/a";

fn changes(script: &mut Script) -> Vec<FileChange> {
    script.cache.take_file_changes()
}

fn names(changes: &[FileChange]) -> Vec<String> {
    let name = |change: &FileChange| match change {
        FileChange::Write(file, _) => format!("write {file}"),
        FileChange::Remove(file) => format!("remove {file}"),
    };
    changes.iter().map(name).collect()
}

#[track_caller]
fn check(script: &mut Script, lines: &str, expected: &[&str]) {
    script.tell(lines);
    assert_eq!(names(&changes(script)), expected, "after {lines}");
}

#[test]
fn files_follow_their_objects() {
    let mut script = Script::default();
    check(
        &mut script,
        POLICY,
        &["write network-policies/uid-p", "write address-groups/uid-g", "write applied-to-groups/uid-x"],
    );
    check(&mut script, "ag MODIFIED g +n/c=10.0.0.3", &["write address-groups/uid-g"]);
    check(&mut script, "np MODIFIED p to=x | In g Allow", &[]);
    check(
        &mut script,
        "np DELETED p\natg CONNECTED\natg BOOKMARK",
        &["remove network-policies/uid-p", "remove applied-to-groups/uid-x"],
    );
    check(&mut script, "ag DELETED g\nag ADDED g n/b=10.0.0.2", &["write address-groups/uid-g"]);
    assert_eq!(
        script.cache.files().iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["address-groups/uid-g"]
    );
}

fn stored(script: &mut Script) -> Vec<StoredObject> {
    let read = |change| match change {
        FileChange::Write(file, content) => StoredObject::read(file.watch(), &content).unwrap(),
        FileChange::Remove(file) => panic!("{file} is removed"),
    };
    changes(script).into_iter().map(read).collect()
}

#[test]
fn what_was_stored_is_enforced_until_the_controller_says_otherwise() {
    let objects = stored(&mut Script::told(POLICY));
    let mut script = Script::default();
    script.cache.restore(objects);
    assert!(script.cache.is_ready() && script.cache.is_saved());
    assert_eq!(script.changes(), ["p In g: a from 10.0.0.2"]);
    script.check("np CONNECTED\nnp BOOKMARK", &["p In g: none"]);
}

#[test]
fn what_the_controller_has_sent_is_newer_than_what_was_stored() {
    let objects = stored(&mut Script::told(POLICY));
    let mut script = Script::told("ag ADDED g n/c=10.0.0.3\nag BOOKMARK");
    script.cache.restore(objects);
    assert_eq!(script.changes(), ["p In g: a from 10.0.0.3"]);
    assert_eq!(names(&changes(&mut script)), ["write address-groups/uid-g"]);
}

#[test]
fn the_pods_that_the_controller_knew_are_stored_and_no_others_of_their_names_are_taken_for_them() {
    let rounds = "np BOOKMARK round=5\nag BOOKMARK round=5\natg ADDED x n/a\natg BOOKMARK round=5 pods=u1";
    let mut told = Script::default();
    check(&mut told, rounds, &["write applied-to-groups/bookmark", "write applied-to-groups/uid-x"]);
    check(&mut told, "atg BOOKMARK round=6\nnp BOOKMARK round=6\nag BOOKMARK round=6", &[]);
    let files: Vec<_> = told.cache.files().iter().map(ToString::to_string).collect();
    assert_eq!(files, ["applied-to-groups/bookmark", "applied-to-groups/uid-x"]);
    let mut script = Script::default();
    script.cache.restore(stored(&mut Script::told(rounds)));
    let knows = |script: &Script, uid: &str| script.cache.knows(Some(&uid.parse().unwrap()));
    assert_eq!(["u1", "u2"].map(|uid| knows(&script, uid)), [true, false]);
    assert_eq!(script.cache.applied_to_groups().count(), 1, "the bookmark is no group");
    let upstream = "np CONNECTED\nag CONNECTED\natg CONNECTED\nnp BOOKMARK\nag BOOKMARK\natg BOOKMARK";
    check(&mut script, upstream, &["remove applied-to-groups/bookmark", "remove applied-to-groups/uid-x"]);
    assert!(knows(&script, "u2"), "that controller does not say which it knows");
}

#[test]
fn no_uid_leaves_its_folder() {
    for uid in ["", "..", "a/b", "/etc/passwd", "a\0", "ä", &"a".repeat(254)] {
        assert_eq!(FileName::new(Watch::AddressGroups, uid), None, "{uid:?}");
    }
}

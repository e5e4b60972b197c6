//! Databases as they may be found, with the real ovsdb-tool.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use nix::sched::{CloneFlags, unshare};
use tempfile::TempDir;

use super::*;
use crate::isolated::{isolated, sh};

/// A folder with a database that says `a=b`; none where there is no Open vSwitch, and the test is skipped.
fn folder(test: &str) -> Option<TempDir> {
    if Command::new("ovsdb-tool").arg("--version").output().is_err() {
        println!("SKIPPED {test}: there is no ovsdb-tool");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    ovsdb_tool(&["create", &path(&folder), SCHEMA]);
    let row = r#"["Open_vSwitch",{"op":"insert","table":"Open_vSwitch","row":{"external_ids":["map",[["a","b"]]]}}]"#;
    ovsdb_tool(&["transact", &path(&folder), row]);
    Some(folder)
}

fn ovsdb_tool(arguments: &[&str]) -> String {
    let output = Command::new("ovsdb-tool").args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn path(folder: &TempDir) -> String {
    folder.path().join("conf.db").display().to_string()
}

/// What the database says.
fn notes(folder: &TempDir) -> String {
    let select =
        r#"["Open_vSwitch",{"op":"select","table":"Open_vSwitch","where":[],"columns":["external_ids"]}]"#;
    ovsdb_tool(&["query", &path(folder), select])
}

/// The files that were put aside, and what is in them.
fn aside(folder: &TempDir) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
    let named = files.map(|file| (file.file_name().unwrap().to_string_lossy().into_owned(), file));
    let aside = named.filter(|(name, _)| name.contains("unreadable"));
    aside.map(|(name, file)| (name, fs::read(file).unwrap())).collect()
}

/// Prepares a database whose file has been changed, and says whether it was put aside.
async fn is_put_aside(test: &str, change: impl FnOnce(&mut Vec<u8>)) -> Option<bool> {
    let folder = folder(test)?;
    let mut bytes = fs::read(path(&folder)).unwrap();
    change(&mut bytes);
    fs::write(path(&folder), &bytes).unwrap();
    prepare(folder.path()).await.unwrap();
    let aside = aside(&folder);
    let known = notes(&folder).contains(r#"["a","b"]"#);
    assert_eq!(known, aside.is_empty(), "the database");
    assert!(aside.is_empty() || aside == BTreeMap::from([("conf.db.unreadable.1".to_owned(), bytes)]));
    Some(!aside.is_empty())
}

#[tokio::test]
async fn a_database_that_cannot_be_read_is_put_aside_and_a_new_one_made() {
    let test = "a_database_that_cannot_be_read_is_put_aside_and_a_new_one_made";
    for change in [
        |bytes: &mut Vec<u8>| bytes.clear(),
        |bytes: &mut Vec<u8>| bytes.fill(0),
        |bytes: &mut Vec<u8>| bytes[30] = b'X',
        |bytes: &mut Vec<u8>| bytes.truncate(1000),
    ] {
        let Some(put_aside) = is_put_aside(test, change).await else { return };
        assert!(put_aside);
    }
}

#[tokio::test]
async fn a_database_that_can_be_read_stays() {
    let Some(put_aside) = is_put_aside("a_database_that_can_be_read_stays", |_| {}).await else { return };
    assert!(!put_aside);
}

/// The schema as a later version of Open vSwitch may have it, but for the name of the database.
fn later_schema(folder: &TempDir) -> String {
    let mut schema: serde_json::Value = serde_json::from_slice(&fs::read(SCHEMA).unwrap()).unwrap();
    schema["version"] = "99.0.0".into();
    schema.as_object_mut().unwrap().remove("cksum");
    schema["tables"]["Bridge"]["columns"]["later"] = serde_json::json!({"type": "string"});
    let file = folder.path().join("later.ovsschema");
    fs::write(&file, schema.to_string()).unwrap();
    file.display().to_string()
}

#[tokio::test]
async fn what_a_later_version_wrote_is_converted_where_it_can_be_and_put_aside_where_not() {
    let test = "what_a_later_version_wrote_is_converted_where_it_can_be_and_put_aside_where_not";
    let Some(folder) = folder(test) else { return };
    ovsdb_tool(&["convert", &path(&folder), &later_schema(&folder)]);
    let later = fs::read(path(&folder)).unwrap();
    prepare(folder.path()).await.unwrap();
    assert_eq!((aside(&folder).len(), notes(&folder).contains(r#"["a","b"]"#)), (0, true));

    fs::write(path(&folder), &later[..later.len() - 20]).unwrap();
    prepare(folder.path()).await.unwrap();
    assert_eq!((aside(&folder).len(), notes(&folder).contains(r#"["a","b"]"#)), (1, false));
}

#[tokio::test]
async fn so_many_are_kept_and_no_more() {
    let Some(folder) = folder("so_many_are_kept_and_no_more") else { return };
    for number in 1..=KEPT + 2 {
        fs::write(path(&folder), format!("not a database {number}")).unwrap();
        prepare(folder.path()).await.unwrap();
    }
    let kept: Vec<_> = aside(&folder).into_values().map(|text| String::from_utf8(text).unwrap()).collect();
    assert_eq!(kept, ["not a database 5", "not a database 4", "not a database 3"]);
}

/// As it is where there is no room.
#[tokio::test]
async fn what_was_begun_and_could_not_be_finished_is_no_database() {
    let test = "what_was_begun_and_could_not_be_finished_is_no_database";
    let Some(folder) = folder(test) else { return };
    fs::write(path(&folder), "not a database").unwrap();
    let unfinished = folder.path().join("conf.db.new");
    fs::create_dir(&unfinished).unwrap();
    for _ in 0..=KEPT {
        prepare(folder.path()).await.unwrap_err();
        assert_eq!((aside(&folder).len(), fs::exists(path(&folder)).unwrap()), (1, false));
    }
    fs::remove_dir(&unfinished).unwrap();
    fs::write(&unfinished, "").unwrap();
    prepare(folder.path()).await.unwrap();
    assert_eq!((aside(&folder).len(), notes(&folder).is_empty()), (1, false));
    assert!(!unfinished.exists());
}

#[test]
fn what_is_no_fault_of_the_content_puts_nothing_aside() {
    for message in [
        "cannot run ovsdb-tool: No such file or directory",
        "ovsdb-tool convert conf.db vswitch.ovsschema failed: ovsdb-tool: conf.db: failed to lock lockfile (Resource temporarily unavailable)",
        "ovsdb-tool needs-conversion conf.db vswitch.ovsschema failed: ovsdb-tool: I/O error: conf.db: open failed (Permission denied)",
        "ovsdb-tool convert conf.db vswitch.ovsschema failed: ovsdb-tool: I/O error: conf.db.tmp: write failed (No space left on device)",
    ] {
        assert_eq!(fault(message), Fault::Surroundings, "{message}");
    }
}

/// `ovsdb-tool` leaves an empty file then, which the next start would put aside.
#[test]
fn where_there_is_no_room_there_is_no_database_and_nothing_is_put_aside() {
    let test = "where_there_is_no_room_there_is_no_database_and_nothing_is_put_aside";
    if folder(test).is_none() {
        return;
    }
    isolated(test, async || {
        unshare(CloneFlags::CLONE_NEWNS).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().display();
        sh(&format!("mount --make-rprivate /; mount -t tmpfs -o size=4k none {at}"));
        prepare(folder.path()).await.unwrap_err();
        assert!(!fs::exists(path(&folder)).unwrap());
        sh(&format!("mount -o remount,size=1m {at}"));
        prepare(folder.path()).await.unwrap();
        assert_eq!(aside(&folder), BTreeMap::new());
        sh(&format!("umount {at}"));
    });
}

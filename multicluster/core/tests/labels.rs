//! Numbers of labels.

use antrea_mc_core::ids::ClusterId;
use antrea_mc_core::label_identity::{Change, LabelId, LabelIdentities};

fn id(cluster: &str) -> ClusterId {
    cluster.parse().unwrap()
}

fn assigned(label: &str, number: u32) -> Change {
    Change::Assigned(label.to_owned(), LabelId::new(number).unwrap())
}

fn released(label: &str) -> Change {
    Change::Released(label.to_owned())
}

fn restored(imports: &[(&str, u32)]) -> LabelIdentities {
    LabelIdentities::restore(
        imports.iter().map(|(label, id)| ((*label).to_owned(), LabelId::new(*id).unwrap())),
    )
}

#[test]
fn labels_have_a_number_while_a_cluster_exports_them() {
    let mut all = LabelIdentities::default();
    assert_eq!(all.export(&id("east"), "a"), Some(assigned("a", 1)));
    assert_eq!(all.export(&id("west"), "a"), None);
    assert_eq!(all.export(&id("west"), "b"), Some(assigned("b", 2)));
    assert_eq!(all.withdraw(&id("east"), "a"), []);
    assert_eq!(all.withdraw(&id("east"), "a"), []);
    assert_eq!(all.withdraw_cluster(&id("west")), [released("a"), released("b")]);
    assert_eq!(all.id("a"), None);
}

#[test]
fn a_number_that_is_free_again_comes_last() {
    let mut all = LabelIdentities::default();
    all.export(&id("east"), "a");
    all.withdraw(&id("east"), "a");
    assert_eq!(all.export(&id("east"), "b"), Some(assigned("b", 2)));
}

#[test]
fn a_leader_that_restarts_keeps_the_numbers() {
    let mut all = restored(&[("a", 7), ("gone", 3)]);
    assert_eq!(all.export(&id("east"), "a"), None);
    assert_eq!(all.export(&id("east"), "b"), Some(assigned("b", 8)));
    assert_eq!(all.exports_complete(), [released("gone")]);
    assert_eq!(all.id("a").unwrap().get(), 7);
}

#[test]
fn of_two_labels_with_one_number_the_second_gets_another() {
    let mut all = restored(&[("a", 7), ("b", 7)]);
    assert_eq!(all.export(&id("east"), "b"), Some(assigned("b", 8)));
    assert_eq!(all.export(&id("east"), "a"), None);
}

#[test]
fn after_the_last_number_comes_the_first_that_is_free() {
    let mut all = restored(&[("a", 1), ("z", 16_777_214)]);
    assert_eq!(all.export(&id("east"), "b"), Some(assigned("b", 2)));
}

#[test]
fn numbers_stand_in_24_bits_beside_none_and_unknown() {
    assert_eq!(LabelId::new(0), None);
    assert_eq!(LabelId::new(0x00ff_ffff), None);
    assert_eq!(LabelId::new(1).unwrap().to_string(), "1");
}

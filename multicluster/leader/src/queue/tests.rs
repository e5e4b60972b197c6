//! What the queue gives, and when.

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn import(name: &str) -> Task {
    Task::Import(name.to_owned())
}

fn export(name: &str) -> Task {
    Task::Export(name.to_owned())
}

fn queue(tasks: &[Task]) -> (Queue, Instant) {
    let (mut queue, now) = (Queue::default(), Instant::now());
    queue.add(tasks.iter().cloned(), now);
    (queue, now)
}

#[test]
fn imports_come_before_what_is_said_to_exporters() {
    let (mut queue, now) = queue(&[export("a"), import("z")]);
    assert_eq!(queue.next(now), Some(import("z")));
    queue.succeeded(&import("z"));
    assert_eq!(queue.next(now + SETTLE), Some(export("a")));
    assert_eq!(queue.next(now + SETTLE), None);
}

#[test]
fn an_exporter_is_answered_once_for_what_changes_within_a_moment() {
    let (mut queue, now) = queue(&[export("a")]);
    assert_eq!((queue.next(now), queue.settles(now)), (None, Some(now + SETTLE)));
    queue.add([export("a"), export("b")], now + SETTLE / 2);
    assert_eq!(queue.settles(now + SETTLE / 2), Some(now + SETTLE), "not later for what comes meanwhile");
    assert_eq!(queue.next(now + SETTLE), Some(export("a")));
    assert_eq!((queue.next(now + SETTLE), queue.settles(now + SETTLE)), (None, Some(now + SETTLE * 3 / 2)));
    assert_eq!(queue.next(now + SETTLE * 3 / 2), Some(export("b")));
    assert_eq!(queue.settles(now + SETTLE * 3 / 2), None);
}

#[test]
fn an_answer_that_was_refused_keeps_no_other_waiting() {
    let (mut queue, now) = queue(&[export("a")]);
    assert_eq!(queue.next(now + SETTLE), Some(export("a")));
    queue.failed(&export("a"), Failure::Object, now + SETTLE, 1.0);
    queue.add([export("b")], now + SETTLE * 2);
    assert_eq!(queue.settles(now + SETTLE * 2), Some(now + SETTLE * 3));
    assert_eq!(queue.next(now + SETTLE * 3), Some(export("b")));
}

#[test]
fn who_came_first_is_served_first_and_once() {
    let (mut queue, now) = queue(&[import("z"), import("a"), import("z")]);
    assert_eq!(queue.next(now), Some(import("z")));
    queue.succeeded(&import("z"));
    queue.add([import("z")], now);
    assert_eq!(queue.next(now), Some(import("a")), "what changes all the time does not come before others");
    assert_eq!(queue.next(now), Some(import("z")));
    assert_eq!(queue.next(now), None);
}

#[test]
fn exporters_are_answered_after_imports_but_do_not_wait_for_ever() {
    let (answer, set) = (export("a"), Task::ClusterSet("set".to_owned()));
    let (mut queue, now) = queue(&[answer.clone(), set.clone(), import("i")]);
    let next: Vec<Option<Task>> = (0..3).map(|_| queue.next(now)).collect();
    assert_eq!(next, [Some(import("i")), Some(set), None]);
    queue.add([answer.clone()], now + PATIENCE / 2);
    assert_eq!(queue.next(now + PATIENCE), Some(answer), "by the time when it came first");
    queue.add([export("b")], now + PATIENCE);
    assert_eq!(queue.next(now + PATIENCE), None);
    queue.succeeded(&import("i"));
    assert_eq!(queue.next(now + PATIENCE + SETTLE), Some(export("b")));
    queue.add([export("c"), import("j")], now + PATIENCE);
    assert_eq!(queue.next(now + PATIENCE), Some(import("j")));
    assert_eq!(queue.next(now + 2 * PATIENCE), None, "two are answered at a time");
}

#[test]
fn answers_go_out_while_imports_and_memberships_never_end() {
    let announce = |name: &str| Task::Announce(name.to_owned());
    let (mut queue, now) = queue(&[export("a"), export("b"), export("c"), announce("a"), import("a")]);
    assert_eq!(queue.next(now + SETTLE), Some(import("a")));
    queue.add([import("b"), import("c"), announce("b")], now + PATIENCE / 2);
    let next: Vec<Option<Task>> = (0..5).map(|_| queue.next(now + PATIENCE)).collect();
    let expected = [export("a"), export("b"), announce("a"), import("b"), import("c")];
    assert_eq!(next, expected.map(Some), "two answers at a time");
    queue.succeeded(&export("a"));
    queue.add([import("d")], now + PATIENCE);
    assert_eq!(queue.next(now + PATIENCE), Some(export("c")));
    assert_eq!(queue.next(now + PATIENCE), Some(import("d")));
}

#[test]
fn an_object_is_under_way_once() {
    let (mut queue, now) = queue(&[import("a")]);
    queue.next(now);
    queue.add([import("a")], now);
    assert_eq!(queue.next(now), None);
    queue.succeeded(&import("a"));
    assert_eq!(queue.next(now), Some(import("a")), "what came meanwhile is not lost");
}

#[test]
fn an_object_that_is_refused_waits_longer_each_time_and_delays_no_other() {
    let (mut queue, now) = queue(&[import("a"), import("b")]);
    queue.next(now);
    assert!(queue.failed(&import("a"), Failure::Object, now, 1.0));
    assert_eq!(queue.next(now), Some(import("b")));
    queue.add([import("a")], now);
    assert_eq!(queue.next(now + SECOND / 10), None, "an event does not shorten the wait");
    assert_eq!(queue.next(now + SECOND / 5), Some(import("a")));
    assert!(!queue.failed(&import("a"), Failure::Object, now, 1.0));
    assert_eq!(queue.next(now + SECOND / 5), None, "it waits longer");
}

#[test]
fn what_has_failed_is_not_looked_at_until_it_is_due() {
    let all: Vec<Task> = (0..10_000).map(|number| import(&format!("{number:05}"))).collect();
    let (mut queue, now) = queue(&all);
    for task in &all {
        assert_eq!(queue.next(now).as_ref(), Some(task));
        queue.failed(task, Failure::Object, now, 1.0);
    }
    queue.add(all, now);
    queue.add([import("new")], now);
    assert_eq!(queue.line.len(), 1, "the others do not stand where the next one is looked for");
    assert_eq!((queue.next(now), queue.next(now)), (Some(import("new")), None));
    assert_eq!(queue.next(now + SECOND / 5), Some(import("00000")));
}

#[test]
fn what_comes_again_while_it_is_under_way_keeps_its_place() {
    let (mut queue, now) = queue(&[import("a"), import("b")]);
    assert_eq!((queue.next(now), queue.next(now)), (Some(import("a")), Some(import("b"))));
    queue.add([import("a"), import("c"), import("b")], now);
    assert_eq!(queue.line.len(), 1, "what is under way is not in the way");
    queue.succeeded(&import("b"));
    queue.succeeded(&import("a"));
    let next: Vec<Option<Task>> = (0..4).map(|_| queue.next(now)).collect();
    assert_eq!(next, [Some(import("a")), Some(import("c")), Some(import("b")), None]);
}

#[test]
fn an_api_server_in_trouble_is_left_alone() {
    let (mut queue, now) = queue(&[import("a"), import("b"), import("c")]);
    queue.next(now);
    queue.next(now);
    assert!(queue.failed(&import("a"), Failure::Server, now, 1.0));
    assert!(!queue.failed(&import("b"), Failure::Server, now, 1.0));
    assert_eq!(queue.next(now), None);
    assert_eq!(queue.next(now + SECOND / 2), Some(import("c")));
    queue.answered();
    assert_eq!(queue.next(now), Some(import("a")), "who failed stands in line again");
}

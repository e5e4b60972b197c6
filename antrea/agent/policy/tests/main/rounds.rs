//! What changes together is taken in together, where the controller tells where rounds end.

use antrea_agent_policy::Refused;
use antrea_types::PodUid;

use crate::script::Script;

/// The Pod `a` is isolated by `p`; all watches have come to round 5.
const ISOLATED: &str = "\
np ADDED p to=x | In - -
np BOOKMARK round=5
ag BOOKMARK round=5
atg ADDED x n/a
atg BOOKMARK round=5 pods=u1";

/// A cache that has told what it knew at first.
fn isolated() -> Script {
    let mut script = Script::told(ISOLATED);
    assert_eq!(script.changes(), ["p In: a from"]);
    script
}

#[test]
fn a_pod_that_goes_from_one_policy_to_another_is_in_one_of_them_at_any_time() {
    let mut script = isolated();
    script.check("np DELETED p\nnp ADDED q to=y | In - -\nnp BOOKMARK round=6", &[]);
    script.check("atg DELETED x\natg ADDED y n/a\natg BOOKMARK round=6", &[]);
    script.check("ag BOOKMARK round=6", &["p In: none", "q In: a from"]);
}

#[test]
fn what_has_not_ended_in_all_watches_waits_and_what_has_does_not() {
    let mut script = isolated();
    script.check("np ADDED q to=x | In - -\nnp BOOKMARK round=6\nnp ADDED r to=x | Out - -", &[]);
    script.check("ag BOOKMARK round=6\natg BOOKMARK round=6\natg MODIFIED x +n/b", &["q In: a from"]);
    script.check("ag BOOKMARK round=8\natg BOOKMARK round=8", &[]);
    script.check("np BOOKMARK round=8", &["p In: a,b from", "q In: a,b from", "r Out: a,b from"]);
}

#[test]
fn watches_that_begin_at_different_rounds_are_known_once_they_have_come_to_the_same() {
    let mut script = Script::default();
    for (line, ready) in [
        ("np ADDED p to=x | In - -", false),
        ("np BOOKMARK round=5", false),
        ("ag BOOKMARK round=6", false),
        ("np BOOKMARK round=6", false),
        ("atg ADDED x n/a", false),
        ("atg BOOKMARK round=7 pods=", false),
        ("ag BOOKMARK round=7", false),
        ("np BOOKMARK round=7", true),
    ] {
        script.tell(line);
        assert_eq!(script.cache.is_ready(), ready, "after {line}");
    }
    assert_eq!(script.changes(), ["p In: a from"]);
}

#[test]
fn while_a_watch_begins_anew_the_others_wait_and_nothing_is_current() {
    let mut script = isolated();
    script.check("atg CONNECTED\nnp DELETED p\nnp ADDED q to=y | In - -\nnp BOOKMARK round=6", &[]);
    assert!(!script.cache.is_current());
    script.check("atg ADDED y n/a\natg BOOKMARK round=6 pods=u1", &[]);
    script.check("ag BOOKMARK round=6", &["p In: none", "q In: a from"]);
    assert!(script.cache.is_current());
}

#[test]
fn a_controller_without_rounds_is_followed_as_it_comes() {
    let mut script = isolated();
    script.tell("np CONNECTED\nag CONNECTED\natg CONNECTED\nnp BOOKMARK\nag BOOKMARK\natg BOOKMARK");
    script.check("", &["p In: none"]);
    script.check("atg ADDED x n/a\nnp ADDED p to=x | In - -", &["p In: a from"]);
    assert!(script.cache.knows(Some(&uid("u7"))), "nothing else can be known");
}

fn uid(text: &str) -> PodUid {
    text.parse().unwrap()
}

#[test]
fn a_pod_is_known_from_the_round_on_that_takes_it_into_account() {
    let mut script = Script::default();
    for (line, known) in [
        ("np BOOKMARK round=5", [false; 3]),
        ("ag BOOKMARK round=5", [false; 3]),
        ("atg BOOKMARK round=5 pods=u1", [true, true, false]),
        ("atg BOOKMARK round=6 pods=u1,u2", [true, true, false]),
        ("ag BOOKMARK round=6", [true, true, false]),
        ("np BOOKMARK round=6", [true, true, true]),
        ("atg BOOKMARK round=7", [true, true, true]),
        ("np AWAY", [false, true, true]),
        ("np CONNECTED", [false, true, true]),
        ("np BOOKMARK round=8", [false, true, true]),
        ("ag BOOKMARK round=8", [false, true, true]),
        ("atg BOOKMARK round=8 pods=u2", [true, false, true]),
    ] {
        script.tell(line);
        let known_now = [None, Some(uid("u1")), Some(uid("u2"))].map(|pod| script.cache.knows(pod.as_ref()));
        assert_eq!(known_now, known, "after {line}");
    }
}

#[test]
fn a_watch_that_is_much_further_than_others_is_refused() {
    let mut script = isolated();
    let refused = (0..100_000).find_map(|_| script.line("atg MODIFIED x +n/b").err());
    assert!(matches!(refused, Some(Refused::TooFarAhead { .. })), "{refused:?}");
    script.check("atg CONNECTED\natg ADDED x n/a n/c\natg BOOKMARK round=9 pods=", &[]);
    script.check("np BOOKMARK round=9\nag BOOKMARK round=9", &["p In: a,c from"]);
}

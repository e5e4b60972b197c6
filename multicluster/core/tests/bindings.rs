//! What admins bind to members, and what members may have without that.

use antrea_mc_core::bindings::{Account, Approval, Binding, Bindings, Held};
use antrea_mc_core::claims::{ClaimBook, Networks, to_be_held};
use antrea_mc_core::ids::ClusterId;
use antrea_shared_api::multicluster::v1alpha1::MemberClusterAnnounce;

fn east() -> ClusterId {
    "east".parse().unwrap()
}

/// An account for each annotation of networks, if it has one, all of them of the cluster `east`.
fn binding(annotations: &[Option<&str>]) -> Binding {
    let account = |(number, networks): (u8, &Option<&str>)| Account {
        name: format!("a{number}"),
        bound_to: Some("east".to_owned()),
        networks: networks.map(str::to_owned),
        gateways: None,
        token_lifetime: None,
        created: jiff::Timestamp::from_second(100 - i64::from(number)).ok(),
    };
    let accounts: Vec<Account> = (0..).zip(annotations).map(account).collect();
    Bindings::of(&accounts).get(&east()).cloned().unwrap_or_default()
}

fn announce(networks: &str) -> MemberClusterAnnounce {
    let text = format!(
        "{{metadata: {{creationTimestamp: '2026-11-21T00:00:00Z'}}, clusterID: east, serviceCIDRs: [{networks}]}}"
    );
    serde_saphyr::from_str(&text).unwrap()
}

/// Which of these networks a cluster may have, and which it does not get.
fn approved(networks: &str, approval: Approval) -> String {
    let announce = announce(networks);
    let mut book = ClaimBook::default();
    book.update(&east(), Networks { announce: Some(&announce), info: None }, approval);
    book.settle();
    let standing = book.settled().standing(&east()).unwrap();
    let has: Vec<String> = standing.networks().map(|network| network.cidr.to_string()).collect();
    let not = book.unapproved(&east()).map(|unapproved| unapproved.left_out.clone()).unwrap_or_default();
    let not: Vec<String> = not.iter().map(|network| network.cidr.to_string()).collect();
    format!("{} / {}", has.join(" "), not.join(" "))
}

#[track_caller]
fn check(annotations: &[Option<&str>], networks: &str, expected: &str) {
    let approval = Approval { binding: binding(annotations), ..Approval::default() };
    assert_eq!(approved(networks, approval), expected, "{annotations:?} {networks}");
}

#[test]
fn a_member_has_what_is_bound_to_it_or_private_networks() {
    let networks = "10.1.0.0/16, 203.0.113.0/24";
    check(&[], networks, "10.1.0.0/16 / 203.0.113.0/24");
    check(&[None], networks, "10.1.0.0/16 / 203.0.113.0/24");
    check(&[Some("203.0.113.0/24")], networks, "203.0.113.0/24 / 10.1.0.0/16");
    check(&[Some("10.0.0.0/8 , 203.0.0.0/16,")], networks, "10.1.0.0/16 203.0.113.0/24 / ");
    check(&[Some("203.0.113.0/25")], networks, " / 10.1.0.0/16 203.0.113.0/24");
    check(&[Some("")], networks, " / 10.1.0.0/16 203.0.113.0/24");
    check(&[Some("10.1.0.0/16"), Some("203.0.113.0/24")], networks, "10.1.0.0/16 203.0.113.0/24 / ");
    check(&[Some("203.0.113.0/24"), None], networks, "10.1.0.0/16 203.0.113.0/24 / ");
}

#[test]
fn what_a_member_had_before_counts_until_an_admin_says_which_networks_are_its_own() {
    let networks = "10.1.0.0/16, 203.0.113.0/24";
    let held = |held| Approval { binding: Binding::default(), held };
    let these = Held::These(vec!["203.0.113.0/24".parse().unwrap()]);
    assert_eq!(approved(networks, held(these.clone())), "10.1.0.0/16 203.0.113.0/24 / ");
    assert_eq!(approved("8.8.8.0/24", held(these.clone())), " / 8.8.8.0/24");
    assert_eq!(approved("8.8.8.0/24", held(Held::Everything)), "8.8.8.0/24 / ");
    let bound = Approval { binding: binding(&[Some("10.1.0.0/16")]), held: these.clone() };
    assert_eq!(approved(networks, bound.clone()), "10.1.0.0/16 / 203.0.113.0/24");
    let announce = announce(networks);
    let of = Networks { announce: Some(&announce), info: None };
    assert_eq!(to_be_held(of, &bound), Vec::new());
    assert_eq!(Held::These(to_be_held(of, &Approval::default())), these);
}

#[test]
fn a_binding_is_as_old_as_the_first_account_and_names_what_it_cannot_read() {
    let binding = binding(&[Some("10.0.0.0/8, ten"), None]);
    assert_eq!(binding.accounts, ["a0", "a1"]);
    assert_eq!(binding.since, jiff::Timestamp::from_second(99).ok());
    assert_eq!(
        binding.unreadable,
        [
            "annotation multicluster.antrea.io/networks of ServiceAccount a0: \"ten\" is no network, as 10.0.0.0/16"
        ]
    );
}

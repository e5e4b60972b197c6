//! The command that a member is told, which binds its networks.

use serde_json::json;

use super::members::announce;
use super::networks::{account, b, bound, claims, imported, set, told, world};
use super::world::World;

/// What is bound goes before all that others have, and is all that a member may have.
#[test]
fn no_command_binds_a_network_that_another_member_has() {
    let v = announce("v", 0, "serviceCIDRs: [10.101.0.0/16]\nnodePodCIDRs: [10.110.0.0/24]");
    let mut world = World::of(&(set() + &v + &b().concat()));
    world.actions();
    let unapproved = |world: &World| {
        let told = told(world, "b");
        told.lines().find(|line| line.starts_with("NetworkUnapproved")).unwrap().to_owned()
    };
    claims(&mut world, &["10.0.0.0/8", "1.1.1.0/24"]);
    let grown = unapproved(&world);
    assert!(grown.contains("networks=1.1.1.0/24,10.102.0.0/16`; "), "it keeps what it had: {grown}");
    world.edit("MemberClusterAnnounce", "member-announce-from-b", |announce| {
        announce["nodePodCIDRs"] = json!(["10.110.0.0/16"]);
    });
    claims(&mut world, &["10.102.0.0/16", "10.101.0.0/16", "1.1.1.0/24"]);
    insta::assert_snapshot!(unapproved(&world), @"NetworkUnapproved=True NotBound: no admin of the leader has bound to cluster b: Service CIDR 1.1.1.0/24; if all networks in this command are those of the cluster, run it in the leader: `kubectl annotate serviceaccount --namespace antrea-multicluster b-token --overwrite multicluster.antrea.io/networks=1.1.1.0/24,10.102.0.0/16`; no command is offered for these: Service CIDR 10.101.0.0/16 overlaps Service CIDR 10.101.0.0/16 of cluster v: clusters of a ClusterSet need networks of their own; Pod CIDR 10.110.0.0/16 overlaps Pod CIDR 10.110.0.0/24 of cluster v: clusters of a ClusterSet need networks of their own");
    world.apply(&account("b", 20, &bound("1.1.1.0/24,10.102.0.0/16")));
    world.actions();
    assert_eq!(imported(&world), "10.102.0.0/16 10.102.0.0/16 1.1.1.0/24");
    let rest = unapproved(&world);
    assert!(rest.contains("of cluster v") && !rest.contains('`'), "nothing is left to be bound: {rest}");
    let many: Vec<String> = (0..20).map(|number| format!("10.101.{number}.0/24")).collect();
    claims(&mut world, &many.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(unapproved(&world).ends_with(" and 5 more"), "the network of Pods too: {}", unapproved(&world));
}

/// What is bound is all that it has from then on.
#[test]
fn no_command_takes_from_a_member_what_it_has() {
    let mut world = world(&set());
    let v = account("v", 21, &bound("10.0.0.0/8")) + &announce("v", 2, "serviceCIDRs: [10.101.0.0/16]");
    world.apply(&v);
    world.actions();
    assert_eq!(imported(&world), "10.102.0.0/16 10.102.0.0/16");
    insta::assert_snapshot!(told(&world, "b"), @"NetworkUnapproved=True NotBound: no admin of the leader has bound to cluster b: Service CIDR 1.1.1.0/24; no command is offered, because it would take Service CIDR 10.102.0.0/16 from the cluster: Service CIDR 10.102.0.0/16 overlaps 10.0.0.0/8, which is bound to cluster v");
}

#[test]
fn no_command_binds_a_network_that_is_bound_to_another_cluster() {
    let mut world = world(&set());
    world.apply(&account("later", 21, &bound("1.1.0.0/16")));
    world.actions();
    insta::assert_snapshot!(told(&world, "b"), @"NetworkUnapproved=True NotBound: no admin of the leader has bound to cluster b: Service CIDR 1.1.1.0/24; no command is offered for these: Service CIDR 1.1.1.0/24 overlaps 1.1.0.0/16, which is bound to cluster later");
}

/// A command takes the place of what is bound: one that is cut would take networks from the member.
#[test]
fn networks_that_no_command_can_hold_are_bound_by_no_command() {
    let mut world = world(&set());
    let networks = |how_many: u32| -> Vec<String> {
        let of = |number: u32| format!("2600:1234:5678:9abc:{number:x}:{number:x}::/96");
        (0x1000..0x1000 + how_many).map(of).collect()
    };
    for (how_many, has_a_command) in [(60, true), (64, true), (150, false)] {
        world.edit("MemberClusterAnnounce", "member-announce-from-b", |announce| {
            announce["serviceCIDRs"] = json!(networks(how_many.min(64)));
            announce["podCIDRs"] = json!(networks(how_many)[how_many.min(64) as usize..]);
        });
        world.actions();
        let told = told(&world, "b");
        assert!(told.starts_with("NetworkUnapproved=True NotBound"), "{told}");
        assert_eq!(told.contains("kubectl annotate"), has_a_command, "{how_many}: {told}");
        assert_eq!(
            told.contains("networks, too many for a command here"),
            !has_a_command,
            "{how_many}: {told}"
        );
    }
}

/// Networks that take so many bytes in a command.
fn of_length(length: usize) -> Vec<String> {
    let longest = "2600:1234:5678:1abc:1000:1000::/96,".len();
    let count = (length + 1).div_ceil(longest);
    let mut surplus = count * longest - (length + 1);
    let of = |number: usize| {
        let shorter = surplus.min(3);
        surplus -= shorter;
        let group = &"1abc"[..4 - shorter];
        let number = 0x1000 + number;
        format!("2600:1234:5678:{group}:{number:x}:{number:x}::/96")
    };
    (0..count).map(of).collect()
}

/// Nothing of a command is cut, whatever is said behind it.
#[test]
fn a_command_is_offered_as_a_whole_or_not_at_all() {
    let mut world = world(&set());
    world.apply(&(account("v", 19, "") + &announce("v", 0, "serviceCIDRs: [10.101.0.0/16]")));
    let mut is_offered = |length: usize| {
        let networks = of_length(length);
        assert_eq!(networks.join(",").len(), length);
        world.edit("MemberClusterAnnounce", "member-announce-from-b", |announce| {
            let (services, pods) = networks.split_at(60);
            announce["serviceCIDRs"] = json!(services);
            announce["podCIDRs"] = json!([&["10.101.0.0/16".to_owned()], pods].concat());
        });
        world.actions();
        let told = told(&world, "b");
        assert!(told.contains("no command is offered for these: "), "{told}");
        match told.split('`').collect::<Vec<_>>()[..] {
            [_, command, _] => {
                assert!(networks.iter().all(|network| command.contains(network)), "{told}");
                true
            }
            [_] => false,
            _ => panic!("a part of a command: {told}"),
        }
    };
    let too_long = (2_200..4_000).step_by(25).find(|length| !is_offered(*length)).unwrap();
    assert!(too_long > 2_200, "some are offered");
    for length in too_long - 50..too_long {
        is_offered(length);
    }
}

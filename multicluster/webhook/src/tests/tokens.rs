//! Tokens that members ask for.

use super::{answer, known};
use crate::Hook;

#[track_caller]
fn check(hook: Hook, who: &str, yaml: &str, expected: &str) {
    assert_eq!(answer(&known(), hook, who, "create", yaml).trim_end(), expected, "{who} {yaml}");
}

fn of(account: &str, spec: &str) -> String {
    format!("metadata: {{name: {account}, namespace: mc}}\nspec: {spec}\n")
}

const TEN_YEARS: &str = "{expirationSeconds: 315360000}";

fn shortened(seconds: u64) -> String {
    format!(r#"{{"op":"replace","path":"/spec/expirationSeconds","value":{seconds}}}"#)
}

#[test]
fn a_member_gets_no_token_that_lasts_longer_than_the_leader_lets_it() {
    let wanted = of("east-token", TEN_YEARS);
    check(Hook::MutateTokenRequest, "mc/east-token", &wanted, &shortened(604_800));
    check(
        Hook::TokenRequest,
        "mc/east-token",
        &wanted,
        "403: spec.expirationSeconds: tokens of this member last 604800 s at most, not 315360000 s",
    );
    for hook in [Hook::MutateTokenRequest, Hook::TokenRequest] {
        for seconds in ["600", "604800", "null"] {
            let wanted = of("east-token", &format!("{{expirationSeconds: {seconds}}}"));
            check(hook, "mc/east-token", &wanted, "allowed");
        }
    }
}

#[test]
fn an_admin_may_let_one_member_have_longer_ones_or_shorter_ones() {
    check(Hook::MutateTokenRequest, "mc/north-token", &of("north-token", TEN_YEARS), &shortened(2_592_000));
    check(Hook::MutateTokenRequest, "mc/old-token", &of("old-token", TEN_YEARS), &shortened(600));
    check(Hook::MutateTokenRequest, "mc/west-token", &of("west-token", TEN_YEARS), &shortened(604_800));
}

#[test]
fn the_token_of_a_member_is_for_the_leader_alone_and_bound_to_nothing() {
    let audience = of("east-token", "{audiences: [vault], expirationSeconds: 600}");
    let only =
        "403: spec.audiences: the token of a member is for the API server of the leader, and for nobody else";
    check(Hook::MutateTokenRequest, "mc/east-token", &audience, only);
    // The API server has named itself by then.
    check(Hook::TokenRequest, "mc/east-token", &audience, "allowed");
    let of_a_pod = of("east-token", "{boundObjectRef: {kind: Pod, name: a}, expirationSeconds: 3607}");
    let bound = "403: spec.boundObjectRef: the token of a member is bound to no other object";
    for hook in [Hook::MutateTokenRequest, Hook::TokenRequest] {
        check(hook, "mc/east-token", &of_a_pod, bound);
        check(
            hook,
            "mc/east-token",
            &of("west-token", "{}"),
            "403: cluster east may ask for tokens of its own ServiceAccount alone, not of west-token",
        );
    }
}

#[test]
fn others_than_members_get_what_rbac_allows() {
    for hook in [Hook::MutateTokenRequest, Hook::TokenRequest] {
        for who in
            ["admin", "kubelet", "master", "mc/default", "kube-system/antrea-mc-controller", "argo/argo"]
        {
            check(hook, who, &of("east-token", TEN_YEARS), "allowed");
        }
    }
}

//! Command lines.

use clap::CommandFactory;

use super::*;
use crate::values::WEEK;

fn parse(line: &str) -> Result<Arguments, String> {
    Arguments::try_parse_from(line.split(' ')).map_err(|error| error.to_string())
}

#[test]
fn commands_and_flags_are_those_of_upstream() {
    Arguments::command().debug_assert();
    for line in [
        "mc init -n antrea-multicluster --clusterset cs1 --clusterid leader4 -j join.yaml",
        "mc join --clusterset cs1 --clusterid c5 -n kube-system --leader-clusterid leader4 --leader-namespace mc \
         --leader-apiserver https://172.18.4.1:6443 --token-secret-file tok5.yaml",
        "mc join -f join6.yaml -k /etc/kubeconfig",
        "mc leave --clusterset cs1",
        "mc leave --clusterset cs1 --now",
        "mc leave --now --keep -n mc",
        "mc destroy --clusterset cs1 -n mc",
        "mc create membertoken tok5 -n mc --cluster-id c5 -o tok5.yaml",
        "mc create membertoken tok5 -n mc --cluster-id c5 --networks 10.96.0.0/16,fd00::/64",
        "mc create membertoken tok5 -n mc --cluster-id c5 --gateways 172.18.0.5,172.18.1.0/24,fd00::1",
        "mc delete membertoken tok5 -n mc",
        "mc delete membertoken tok5 -n mc --end-membership",
        "mc deploy leadercluster -n mc --antrea-version latest",
        "mc deploy membercluster -f member.yml",
        "mc get clusterset -A",
        "mc get clustersets cs1 -n mc -o json",
        "mc get re --cluster-id c5 -n mc -o yaml",
        "mc get resourceimport -A",
        "mc get joinconfig -n mc --member-token tok5",
        "mc get membertoken -n mc",
        "mc status --wait --timeout 2m",
        "mc check",
    ] {
        assert!(parse(line).is_ok(), "{line}: {}", parse(line).unwrap_err());
    }
}

#[test]
fn what_cannot_be_meant_is_refused() {
    for (line, error) in [
        ("mc init -n mc --clusterset cs1 --clusterid C5", "\"C5\" is not a DNS label"),
        ("mc create membertoken a -n mc --cluster-id c5 --lifetime 5m", "ten minutes at least"),
        ("mc create membertoken a -n mc --cluster-id c5 --lifetime long", "expected a time, as 90s"),
        ("mc create membertoken a --cluster-id c5", "--namespace"),
        (
            "mc create membertoken a -n mc --cluster-id c5 --networks 10.96.0.0",
            "expected CIDRs, as 10.96.0.0/16",
        ),
        (
            "mc create membertoken a -n mc --cluster-id c5 --gateways 172.18.0.5,n1",
            "expected addresses or CIDRs, as 172.18.0.5",
        ),
        ("mc get clusterset -A -n mc", "cannot be used with"),
        ("mc leave --now", "--clusterset"),
        ("mc leave --keep", "--now"),
        ("mc leave --clusterset cs1 --now --keep", "cannot be used with"),
        ("mc get joinconfig", "--namespace"),
        ("mc deploy leadercluster", "--namespace"),
        ("mc deploy membercluster --antrea-version v2.7.0", "take the antctl-mc of v2.7.0"),
        ("mc deploy membercluster --antrea-version latest -f a", "cannot be used with"),
    ] {
        let refused = parse(line).unwrap_err();
        assert!(refused.contains(error), "{line}: {refused}");
    }
}

#[test]
fn a_token_lives_for_a_week_unless_told_otherwise() {
    let lifetime = |line: &str| match parse(line).unwrap().command {
        Command::Create { what: Create::MemberToken(options) } => options.lifetime,
        other => panic!("{other:?}"),
    };
    let line = "mc create membertoken a -n mc --cluster-id c5";
    assert_eq!(lifetime(line), WEEK);
    assert_eq!(lifetime(&format!("{line} --lifetime never")), Lifetime::Forever);
}

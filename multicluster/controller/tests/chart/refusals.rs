//! Values that make no sense together, or at all.

use crate::helm::Chart;

/// What helm says against the values of the chart in Namespace `kube-system`, without where it says so.
fn refused(chart: &Chart, values: &str) -> String {
    let error = chart.render("kube-system", values).unwrap_err();
    let lines = error.lines().take_while(|line| !line.is_empty());
    lines.map(|line| line.rsplit("): ").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_is_refused_says_why_and_what_to_do() {
    let Some(chart) = Chart::open() else { return };
    let check = |values: &str, expected: &[&str]| {
        assert_eq!(refused(&chart, values), expected.join("\n"), "{values}");
    };
    check(
        "{mode: leader, controller: {podCIDRs: [10.0.0.0/8], endpointIPType: PodIP}}",
        &[
            "controller.endpointIPType: it is for members, and mode is leader; leave it at \"ClusterIP\"",
            "controller.podCIDRs: it is for members, and mode is leader; leave it at []",
        ],
    );
    check(
        "{mode: leader, controller: {podCIDRs: auto}}",
        &["controller.podCIDRs: it is for members, and mode is leader; leave it at []"],
    );
    check(
        "{mode: member, commonArea: {namespace: mc}, memberCredentials: [{name: a, clusterID: a}]}",
        &[
            "commonArea.namespace: it is for leaders, and mode is member; leave it at \"\"",
            "memberCredentials: it is for leaders, and mode is member; leave it at []",
        ],
    );
    check(
        "{mode: member, controller: {leader: {memberLimits: {exports: 5, bytes: 16Mi}}}}",
        &["controller.leader.memberLimits.exports: it is for leaders, and mode is member; leave it at 2000"],
    );
    check(
        "{mode: both, commonArea: {namespace: kube-system}}",
        &[
            "commonArea.namespace: kube-system is the Namespace of the member, and a Namespace has one ClusterSet; choose another",
        ],
    );
    check(
        "{mode: both, clusterSet: {clusterID: a}}",
        &["clusterSet.clusterID: it needs clusterSet.create; leave it at \"\""],
    );
    check(
        "{mode: member, clusterSet: {create: true, clusterSetID: cs, clusterID: a, leaderClusterID: l, leaderNamespace: mc}}",
        &[
            "clusterSet.leaderAPIServer: clusterSet.create needs it in mode member; set it",
            "clusterSet.tokenSecretName: clusterSet.create needs it in mode member; set it",
        ],
    );
    check(
        "{mode: both, clusterSet: {create: true, clusterSetID: cs, clusterID: a, leaderAPIServer: 'https://a'}}",
        &[
            "clusterSet.leaderAPIServer: this cluster joins its own ClusterSet only with clusterSet.tokenSecretName; leave it at \"\"",
        ],
    );
    check(
        "{mode: both, controller: {member: {tokenSecret: x}}, clusterSet: {create: true, clusterSetID: cs, clusterID: a, leaderAPIServer: 'https://a', tokenSecretName: t}}",
        &[
            "clusterSet.tokenSecretName: the controller may read Secret x alone, which controller.member.tokenSecret names; name the same",
        ],
    );
    check(
        "{mode: leader, replicas: 2, controller: {leaderElection: {leaderElect: false}, metrics: {bindAddress: ':9443'}}}",
        &[
            "controller.leaderElection.leaderElect: several replicas would write the same objects; set it to true, or replicas to 1",
            "controller.metrics.bindAddress: port 9443 is taken by another listener of the controller; choose another",
        ],
    );
}

#[test]
fn members_that_cannot_be_told_apart_are_refused() {
    let Some(chart) = Chart::open() else { return };
    let check = |members: &str, expected: &str| {
        let values = format!("{{mode: leader, memberCredentials: [{members}]}}");
        assert_eq!(refused(&chart, &values), expected, "{members}");
    };
    check(
        "{name: a, clusterID: east}, {name: b, clusterID: east-1}",
        "memberCredentials[1].clusterID: east-1 and east cannot be told apart in names of objects; rename one of the two",
    );
    check(
        "{name: a, clusterID: east}, {name: b, clusterID: east}",
        "memberCredentials[1].clusterID: east is there twice; give each cluster an ID of its own",
    );
    check(
        "{name: a, clusterID: east}, {name: a, clusterID: west}",
        "memberCredentials[1].name: a is there twice; choose another",
    );
    check(
        "{name: a, clusterID: east, namespace: mc}",
        "memberCredentials[0].namespace: mc is not a Common Area; add it to controller.leader.namespaces",
    );
}

#[test]
fn values_that_do_not_fit_the_schema_are_named() {
    let Some(chart) = Chart::open() else { return };
    let check = |values: &str, path: &str| {
        let error = chart.render("kube-system", values).unwrap_err();
        assert!(error.contains(path), "{values}: {error}");
    };
    check("mode: master", "at '/mode'");
    check("replicas: 0", "at '/replicas'");
    check("hostNetwork: false", "'hostNetwork' not allowed");
    check("commonArea: {namespace: Mc_1}", "at '/commonArea/namespace'");
    check("controller: {endpointIPType: NodeIP}", "at '/controller/endpointIPType'");
    check("controller: {podCIDRs: [10.0.0.0/33]}", "at '/controller/podCIDRs/0'");
    check("controller: {serviceCIDR: 10.96.0.0}", "at '/controller/serviceCIDR'");
    check(
        "controller: {health: {healthProbeBindAddress: '8080'}}",
        "at '/controller/health/healthProbeBindAddress'",
    );
    check(
        "controller: {leader: {memberLimits: {exports: 0}}}",
        "at '/controller/leader/memberLimits/exports'",
    );
    check(
        "controller: {leader: {memberLimits: {bytes: 64MB}}}",
        "at '/controller/leader/memberLimits/bytes'",
    );
    check("controller: {podCIDRs: AUTO}", "at '/controller/podCIDRs'");
    check("controller: {member: {tokenLifetime: week}}", "at '/controller/member/tokenLifetime'");
    check(
        "controller: {member: {excludedNamespaces: [Prod]}}",
        "at '/controller/member/excludedNamespaces/0'",
    );
    check("clusterSet: {leaderAPIServer: 10.0.0.1}", "at '/clusterSet/leaderAPIServer'");
    check("memberCredentials: [{name: a}]", "missing property 'clusterID'");
    check(
        "memberCredentials: [{name: a, clusterID: a, networks: [10.97.0.0]}]",
        "at '/memberCredentials/0/networks/0'",
    );
}

//! One leader of two ClusterSets, each with a Common Area of its own.

use antrea_e2e::command::Run as _;
use antrea_e2e::kubectl::Kubectl;
use antrea_e2e::multicluster::cluster_set::{COMMON_AREA, ClusterSet, Member};
use antrea_e2e::multicluster::nginx::{self, IMPORTED, SERVICE};
use antrea_e2e::scenario::{Extent, Part};
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::stage::{SECOND_AREA, Stage, on_the_stage_of, until};

const SECOND: ClusterSet = ClusterSet { id: "second-clusterset", area: SECOND_AREA };

#[test]
fn clustersets_of_one_leader_have_nothing_in_common() {
    let name = "clustersets_of_one_leader_have_nothing_in_common";
    on_the_stage_of(Extent::Long(Part::Two), name, |stage| {
        let (b, c) = (stage.b()?, stage.c()?);
        let both = [stage.exported_ip(b)?, stage.exported_ip(c)?];
        let second = join_the_second(stage)?;
        wait_for_services_apart(stage, &both)?;
        ensure_bound_to_its_area(&stage.a()?.kubectl, &second, SECOND_AREA, COMMON_AREA)?;
        ensure_bound_to_its_area(&stage.a()?.kubectl, b, COMMON_AREA, SECOND_AREA)?;
        wait_for_services_apart(stage, &both)?;
        leave_the_second(stage, &second)?;
        c.join()?;
        stage.wait_for_endpoints(SERVICE, &both)?;
        c.wait_for_gateways(stage.members().len() - 1)?;
        stage.example.wait_for_answers()
    });
}

/// C goes from the first ClusterSet to the second, which it is the only member of.
fn join_the_second(stage: &Stage) -> Result<Member> {
    let (leader, member) = (stage.a()?.in_set(SECOND), stage.c()?.in_set(SECOND));
    leader.init()?;
    leader.create_token(&member)?;
    stage.c()?.leave()?;
    stage.wait_for_endpoints(SERVICE, &[stage.exported_ip(stage.b()?)?])?;
    member.join()?;
    Ok(member)
}

/// Both sets have a Service of one name, and in none of them is an endpoint of the other.
fn wait_for_services_apart(stage: &Stage, [of_b, of_c]: &[String; 2]) -> Result<()> {
    nginx::wait_for_endpoints(&stage.c()?.kubectl, IMPORTED, &[of_c.clone()].into())?;
    stage.wait_for_endpoints(SERVICE, std::slice::from_ref(of_b))
}

fn leave_the_second(stage: &Stage, member: &Member) -> Result<()> {
    member.leave()?;
    until("the last member to have left", || {
        stage.a()?.antctl.text(&["destroy", "--clusterset", SECOND.id, "-n", SECOND.area]).map(drop)
    })
}

/// What a member may write in its own Common Area it may not write in another.
fn ensure_bound_to_its_area(leader: &Kubectl, member: &Member, own: &str, other: &str) -> Result<()> {
    let account = format!("--as=system:serviceaccount:{own}:{}", member.token_name());
    leader.text(&["auth", "can-i", "create", "resourceexports", "-n", own, &account])?;
    let mut create = leader.command(&["create", &account, "-f", "-"]);
    let Err(error) = create.feed(&export(member, other).to_string()) else {
        anyhow::bail!("{} may write in {other}", member.token_name())
    };
    ensure!(format!("{error:#}").contains("is forbidden"), "it is refused otherwise: {error:#}");
    Ok(())
}

fn export(member: &Member, area: &str) -> Value {
    json!({
        "apiVersion": "multicluster.crd.antrea.io/v1alpha1",
        "kind": "ResourceExport",
        "metadata": { "name": format!("{}-default-foreign-service", member.id()), "namespace": area },
        "spec": {
            "kind": "Service",
            "clusterID": member.id(),
            "namespace": "default",
            "name": "foreign",
            "service": { "serviceSpec": { "ports": [{ "port": 80, "protocol": "TCP" }] } },
        },
    })
}

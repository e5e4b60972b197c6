//! The token of a member: a new one is taken while it works, and one that is no longer good costs nothing but news.

use antrea_e2e::multicluster::cluster_set::COMMON_AREA;

use super::restarts::under_traffic;
use super::stage::{SET, on_the_stage, wait_for_condition};

#[test]
fn a_member_takes_a_new_token_and_survives_the_loss_of_its_old_one() {
    on_the_stage("a_member_takes_a_new_token_and_survives_the_loss_of_its_old_one", |stage| {
        let (leader, member) = (stage.a()?, stage.b()?);
        under_traffic(stage, || {
            leader.create_token(member)?;
            member.join()?;
            // Tokens of a ServiceAccount that is gone are refused, as those that have expired are.
            let account = member.token_name();
            leader.antctl.text(&["delete", "membertoken", &account, "-n", COMMON_AREA])?;
            wait_for_condition(&member.kubectl, &SET, ("Ready", "False", None))?;
            leader.create_token(member)?;
            member.join()?;
            wait_for_condition(&member.kubectl, &SET, ("Ready", "True", None)).map(drop)
        })
    });
}

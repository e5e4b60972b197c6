//! What somebody can do who has the token of a member: everything is tried, and the table that comes of it is printed.

pub(super) mod attempt;
mod table;
mod tries;

use antrea_e2e::multicluster::cluster_set::{COMMON_AREA, Member};
use anyhow::{Result, ensure};
use serde_json::Value;

use self::attempt::{Attacker, Attempt};
use super::stage::{Stage, on_the_stage};

/// What the leader and its members write, which no attempt may change where it is another's.
const OTHERS: &str = "memberclusterannounces,resourceexports,resourceimports,clustersets,serviceaccounts,secrets,configmaps,\
                      roles,rolebindings,leases";

#[test]
fn what_the_token_of_a_member_can_do() {
    on_the_stage("what_the_token_of_a_member_can_do", |stage| {
        let (leader, member, other) = (stage.a()?, stage.c()?, stage.b()?);
        let attacker = Attacker::with_the_token_of(stage, member, other)?;
        let before = of_others(leader, member)?;
        let mut attempts = table::attempts(&attacker)?;
        attempts.extend(tries::attempts(&attacker, stage)?);
        let observed = attempts.iter().map(|attempt| attacker.make(attempt)).collect::<Result<Vec<_>>>()?;
        let wrong = print(&attempts, &observed);
        ensure!(wrong.is_empty(), "not as expected:\n{}", wrong.join("\n"));
        let after = of_others(leader, member)?;
        for (before, after) in before.iter().zip(&after) {
            ensure!(before == after, "an object of another was changed: it was {before}\nand is {after}");
        }
        ensure!(before.len() == after.len(), "there were {} objects, and are {}", before.len(), after.len());
        Ok(())
    });
}

/// Prints a row for each attempt; returns those that came out otherwise than expected.
fn print(attempts: &[Attempt], observed: &[attempt::Answer]) -> Vec<String> {
    let mut wrong = Vec::new();
    println!("{:<44} {:<10} {:<16} expected observed", "resource", "whose", "verb");
    for (attempt, answer) in attempts.iter().zip(observed) {
        let (resource, whose, verb) = (&attempt.resource, &attempt.whose, &attempt.verb);
        let row = format!("{resource:<44} {whose:<10} {verb:<16} {:<8} {}", attempt.expected, answer.code);
        println!("{row}");
        if !answer.is_expected(attempt) {
            wrong.push(format!("{row} {}", answer.text));
        }
    }
    println!("{} attempts", attempts.len());
    wrong
}

/// All objects of the Common Area but the member's own, without what heartbeats, Leases and status reports change.
fn of_others(leader: &Member, member: &Member) -> Result<Vec<Value>> {
    let objects = leader.kubectl.json(&["get", OTHERS, "-n", COMMON_AREA])?;
    let mut objects = objects["items"].as_array().cloned().unwrap_or_default();
    objects.retain(|object| object["clusterID"] != member.id() && object["spec"]["clusterID"] != member.id());
    for object in &mut objects {
        if object["kind"] == "Lease" {
            object["spec"].take();
        }
        object["status"].take();
        for changing in ["resourceVersion", "managedFields", "annotations"] {
            object["metadata"][changing].take();
        }
    }
    ensure!(!objects.is_empty(), "the Common Area is empty");
    Ok(objects)
}

/// The first of these objects with such a spec.
pub(super) fn find(stage: &Stage, kind: &str, is_it: impl Fn(&Value) -> bool) -> Result<Value> {
    let objects = stage.a()?.kubectl.json(&["get", kind, "-n", COMMON_AREA])?;
    let mut objects = objects["items"].as_array().cloned().unwrap_or_default().into_iter();
    let found = objects.find(|object| is_it(&object["spec"]));
    anyhow::Context::with_context(found, || format!("there is none of the {kind} that are looked for"))
}

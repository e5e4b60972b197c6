//! The leader is away, for a minute or for days: nobody loses anything, and all is current soon after it is back.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use antrea_e2e::command::{Run as _, command};
use antrea_e2e::etcd::Etcd;
use antrea_e2e::multicluster::cluster_set::{COMMON_AREA, LEADER, Member, NAME};
use antrea_e2e::multicluster::nginx;
use antrea_e2e::patience::ensure_in_time;
use antrea_e2e::scenario::{Extent, Part};
use antrea_e2e::wait::pause;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::super::restarts::{service, under_traffic};
use super::super::stage::{SET, Stage, on_the_stage_of, scale_controller, wait_for_condition};
use super::super::writes::{self, Writes};
use super::Held;

/// For members to hear of a leader that is back, and for it to merge what they export: they ask every 10 s.
const CURRENT: Duration = Duration::from_secs(20);

/// A leader that is back hears for so long of whoever is there. Who does not say a word keeps what he has for longer.
const HEARD: Duration = Duration::from_secs(12);

/// What is exported meanwhile.
const LATE: &str = "late";

/// For how long the leader is away while writes are counted, and for how long afterwards.
const AWAY: Duration = Duration::from_secs(300);
const AFTERWARDS: Duration = Duration::from_secs(60);

/// What a member writes in its own cluster, and, while no Pod and no Service changes, nobody else.
const OF_MEMBERS: [&str; 12] = [
    "clusterinfoimports",
    "clusternetworkpolicies",
    "clustersets",
    "endpointslices",
    "gateways",
    "labelidentities",
    "serviceexports",
    "serviceexports/status",
    "serviceimports",
    "serviceimports/status",
    "services",
    "services/status",
];
/// What members write in the Common Area, but for their heartbeats.
const OF_EXPORTERS: [&str; 1] = ["resourceexports"];

/// That the leader is away, why, and that it is back, stands in the status of the ClusterSet: so often it is written at most.
const LINK: &str = "PATCH clustersets/status";
const MOST: u64 = 6;

#[test]
fn a_minute_without_the_leader_takes_nothing_away() {
    on_the_stage_of(Extent::Long(Part::Two), "a_minute_without_the_leader_takes_nothing_away", |stage| {
        under_traffic(stage, || {
            let held = Held::by_all(stage)?;
            scale_controller(stage.a()?, 0)?;
            export(stage)?;
            pause(Duration::from_secs(60));
            held.ensure_it_stayed(stage)?;
            come_back(stage)?;
            held.ensure_it_stayed(stage)
        })
    });
}

/// What took an hour, or two days, is the times of heartbeats. A member that is away when the leader is back keeps what it
/// exports.
#[test]
fn an_hour_and_two_days_without_the_leader_take_nothing_away() {
    on_the_stage_of(
        Extent::Long(Part::One),
        "an_hour_and_two_days_without_the_leader_take_nothing_away",
        |stage| {
            under_traffic(stage, || {
                let (leader, member, silent) = (stage.a()?, stage.b()?, stage.c()?);
                let held = Held::by_all(stage)?;
                scale_controller(silent, 0)?;
                scale_controller(leader, 0)?;
                export(stage)?;
                for (whose, ago) in [(leader, "2 days ago"), (member, "1 hour ago"), (silent, "2 days ago")] {
                    date_heartbeat(stage, whose, ago)?;
                }
                date_status(stage, "2 days ago")?;
                come_back(stage)?;
                pause(HEARD);
                held.ensure_it_stayed(stage)?;
                scale_controller(silent, 1)?;
                wait_for_condition(&silent.kubectl, &SET, ("Ready", "True", None))?;
                held.ensure_it_stayed(stage)
            })
        },
    );
}

#[test]
fn five_minutes_without_the_leader_have_members_write_that_it_is_away_and_nothing_else() {
    let name = "five_minutes_without_the_leader_have_members_write_that_it_is_away_and_nothing_else";
    on_the_stage_of(Extent::All, name, |stage| {
        under_traffic(stage, || {
            let held = Held::by_all(stage)?;
            let before = Written::so_far(stage)?;
            scale_controller(stage.a()?, 0)?;
            pause(AWAY);
            Written::so_far(stage)?.ensure_nothing_since(&before)?;
            scale_controller(stage.a()?, 1)?;
            for member in [stage.b()?, stage.c()?] {
                wait_for_condition(&member.kubectl, &SET, ("Ready", "True", None))?;
            }
            pause(AFTERWARDS);
            Written::so_far(stage)?.ensure_nothing_since(&before)?;
            held.ensure_it_stayed(stage)
        })
    });
}

/// What was written in the clusters of B and C, and in that of the leader.
struct Written {
    members: [Writes; 2],
    leader: Writes,
    /// The Events of the controllers of B and C.
    events: [BTreeSet<String>; 2],
}

impl Written {
    fn so_far(stage: &Stage) -> Result<Self> {
        let (b, c) = (stage.b()?, stage.c()?);
        Ok(Self {
            members: [writes::so_far(&b.kubectl)?, writes::so_far(&c.kubectl)?],
            leader: writes::so_far(&stage.a()?.kubectl)?,
            events: [events(b)?, events(c)?],
        })
    }

    /// Prints what was written, and complains about all but a few words about the leader.
    fn ensure_nothing_since(&self, before: &Self) -> Result<()> {
        for (before, now) in before.members.iter().zip(&self.members) {
            let written = writes::between(before, now);
            println!("a member's cluster was asked for {written:?}");
            ensure_nothing_of(&written, &OF_MEMBERS)?;
            let told = written.get(LINK).copied().unwrap_or_default();
            ensure!(told <= MOST, "{told} times it was written how the leader is");
        }
        let written = writes::between(&before.leader, &self.leader);
        println!("the leader's cluster was asked for {written:?}");
        ensure_nothing_of(&written, &OF_EXPORTERS)?;
        for (before, now) in before.events.iter().zip(&self.events) {
            let told: Vec<_> = now.difference(before).collect();
            ensure!(told.is_empty(), "there are Events {told:?}");
        }
        Ok(())
    }
}

fn ensure_nothing_of(written: &Writes, kinds: &[&str]) -> Result<()> {
    let is_of_these = |what: &str| what.split_once(' ').is_some_and(|(_, kind)| kinds.contains(&kind));
    let found: Writes = written.clone().into_iter().filter(|(what, _)| is_of_these(what)).collect();
    ensure!(found.is_empty(), "somebody wrote {found:?}");
    Ok(())
}

/// The names of the Events of a member's controller.
fn events(member: &Member) -> Result<BTreeSet<String>> {
    let all = member.kubectl.json(&["get", "events", "-A"])?;
    let all = all["items"].as_array().into_iter().flatten();
    let own = all.filter(|event| event["reportingComponent"] == "antrea-mc-controller");
    Ok(own.filter_map(|event| event["metadata"]["name"].as_str().map(str::to_owned)).collect())
}

/// B exports a Service more.
fn export(stage: &Stage) -> Result<()> {
    let kubectl = &stage.b()?.kubectl;
    kubectl.apply(&service(LATE).to_string())?;
    kubectl.apply(&nginx::export(LATE).to_string())
}

/// The leader is there again; soon A has what was exported meanwhile, and it goes when that goes.
fn come_back(stage: &Stage) -> Result<()> {
    let kubectl = &stage.b()?.kubectl;
    scale_controller(stage.a()?, 1)?;
    let back = Instant::now();
    stage.wait_for_endpoints(LATE, &[nginx::cluster_ip(kubectl, LATE)?.to_string()])?;
    let took = back.elapsed();
    println!("what was exported without the leader was imported {took:.1?} after it was back");
    ensure_in_time("the import", took, CURRENT)?;
    kubectl.text(&["delete", &format!("serviceexport/{LATE}"), &format!("service/{LATE}")])?;
    stage.wait_for_endpoints(LATE, &[])
}

/// Writes the time of a heartbeat: past the webhooks, whose program is away.
fn date_heartbeat(stage: &Stage, whose: &Member, ago: &str) -> Result<()> {
    let name = whose.announce_name();
    let key = format!("/registry/multicluster.crd.antrea.io/memberclusterannounces/{COMMON_AREA}/{name}");
    let (etcd, time) = (Etcd::of(stage.lab.plan(), LEADER)?, time(ago)?);
    let mut announce = etcd.get(&key)?;
    *announce.pointer_mut("/metadata/annotations/touch-ts").context("no heartbeat")? = json!(time);
    etcd.put(&key, &announce)
}

/// Writes the times of what the leader says of members.
fn date_status(stage: &Stage, ago: &str) -> Result<()> {
    let key = format!("/registry/multicluster.crd.antrea.io/clustersets/{COMMON_AREA}/{NAME}");
    let (etcd, time) = (Etcd::of(stage.lab.plan(), LEADER)?, time(ago)?);
    let mut set = etcd.get(&key)?;
    date_transitions(&mut set, &time);
    etcd.put(&key, &set)
}

fn time(ago: &str) -> Result<String> {
    Ok(command("date", &["--utc", "--date", ago, "+%FT%TZ"]).text()?.trim().to_owned())
}

/// Every `lastTransitionTime` in a value.
fn date_transitions(value: &mut Value, time: &str) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if name == "lastTransitionTime" {
                    *field = json!(time);
                }
                date_transitions(field, time);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| date_transitions(item, time)),
        _ => {}
    }
}

#[test]
fn transitions_are_dated_wherever_they_are() {
    let mut status = json!({"conditions": [{"type": "Ready", "lastTransitionTime": "now"}], "clusterStatuses": [
        {"conditions": [{"lastTransitionTime": "now", "reason": "Connected"}]}]});
    date_transitions(&mut status, "then");
    assert_eq!(
        status,
        json!({"conditions": [{"type": "Ready", "lastTransitionTime": "then"}], "clusterStatuses": [
            {"conditions": [{"lastTransitionTime": "then", "reason": "Connected"}]}]})
    );
}

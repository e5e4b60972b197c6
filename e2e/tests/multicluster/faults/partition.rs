//! A member that nobody reaches: the others stop asking it when its lease is over, and it is back in seconds.

use std::time::{Duration, Instant};

use antrea_e2e::multicluster::cluster_set::{COMMON_AREA, Member, NAME};
use antrea_e2e::multicluster::nginx::{self, IMPORTED, SERVICE};
use antrea_e2e::names::Place;
use antrea_e2e::partition;
use antrea_e2e::patience::ensure_in_time;
use anyhow::{Result, ensure};

use super::super::restarts::service;
use super::super::stage::{Stage, on_the_stage, until, upgrade};

/// The lease of the test, and what is usual.
const SHORT: [&str; 2] = ["controller.leader.memberLease=15s", "controller.leader.memberSilence=15s"];
const USUAL: [&str; 2] = ["controller.leader.memberLease=5m", "controller.leader.memberSilence=30s"];

/// From the cut until nobody has an endpoint of the member: the lease, and what may have been left of a heartbeat.
const WITHDRAWN: Duration = Duration::from_secs(30);

/// A member asks for its leader every 10 s.
const BACK: Duration = Duration::from_secs(20);

/// Upper bound until the member sees changes of others: a heartbeat, and new watches.
const HEARS: Duration = Duration::from_secs(30);

/// A Service that is exported once the member is connected again.
const HEALED: &str = "healed";

#[test]
fn a_partitioned_member_is_withdrawn_after_its_lease_and_back_in_seconds() {
    on_the_stage("a_partitioned_member_is_withdrawn_after_its_lease_and_back_in_seconds", |stage| {
        let (a, b, c) = (stage.a()?, stage.b()?, stage.c()?);
        let (of_b, of_c) = (stage.exported_ip(b)?, stage.exported_ip(c)?);
        upgrade(stage, a, &SHORT)?;
        let import = nginx::cluster_ip(&b.kubectl, IMPORTED)?;
        let cut = Cut::of(stage, b, &[a, c])?;
        let began = Instant::now();
        stage.wait_for_endpoints(SERVICE, std::slice::from_ref(&of_c))?;
        nginx::wait_for_endpoints(&c.kubectl, IMPORTED, &[of_c.clone()].into())?;
        println!("what a cluster that is cut off exports is withdrawn after {:.1?}", began.elapsed());
        ensure_in_time("the withdrawal", began.elapsed(), WITHDRAWN)?;
        ensure_only(stage, "pod-c")?;
        let sets = ["get", "clusterset", NAME, "-n", COMMON_AREA];
        let told = a.kubectl.json(&sets)?["status"]["clusterStatuses"].to_string();
        ensure!(told.contains("LeaseExpired"), "the leader says {told}");
        // It goes on with what it knows.
        ensure!(nginx::cluster_ip(&b.kubectl, IMPORTED)? == import, "its imports are other ones");
        let both = [of_b.clone(), of_c.clone()].into();
        nginx::wait_for_endpoints(&b.kubectl, IMPORTED, &both)?;
        drop(cut);
        let healed = Instant::now();
        stage.wait_for_endpoints(SERVICE, &[of_b, of_c])?;
        println!("it is back {:.1?} after it is reached again", healed.elapsed());
        ensure_in_time("the return", healed.elapsed(), BACK)?;
        nginx::wait_for_endpoints(&c.kubectl, IMPORTED, &both)?;
        hears(b, c)?;
        println!("it hears of the others {:.1?} after it is reached again", healed.elapsed());
        ensure_in_time("what it hears of the others", healed.elapsed(), HEARS)?;
        ensure!(nginx::cluster_ip(&b.kubectl, IMPORTED)? == import, "its imports are other ones");
        stage.example.wait_for_answers()?;
        upgrade(stage, a, &USUAL)
    });
}

/// Waits until the member imports a new Service, and with it everything that happened earlier.
fn hears(member: &Member, exporter: &Member) -> Result<()> {
    let imported = format!("antrea-mc-{HEALED}");
    let endpoints =
        |of: &[String]| nginx::wait_for_endpoints(&member.kubectl, &imported, &of.iter().cloned().collect());
    exporter.kubectl.apply(&service(HEALED).to_string())?;
    exporter.kubectl.apply(&nginx::export(HEALED).to_string())?;
    endpoints(&[nginx::cluster_ip(&exporter.kubectl, HEALED)?.to_string()])?;
    exporter.kubectl.text(&["delete", &format!("serviceexport/{HEALED}"), &format!("service/{HEALED}")])?;
    endpoints(&[])
}

/// Requests go to one server, and are all answered, when agents have followed.
fn ensure_only(stage: &Stage, server: &str) -> Result<()> {
    let several = || (0..10).map(|_| stage.example.ask()).collect::<Result<Vec<_>>>();
    until(&format!("answers of {server}"), || {
        let answers = several()?;
        ensure!(answers.iter().all(|answer| answer == server), "{answers:?} answered");
        Ok(())
    })?;
    for _ in 0..5 {
        let answers = several()?;
        ensure!(answers.iter().all(|answer| answer == server), "{answers:?} answered");
    }
    Ok(())
}

/// A place that is cut off from others until this goes away.
struct Cut<'a> {
    stage: &'a Stage,
    place: Place,
    others: Vec<Place>,
}

impl<'a> Cut<'a> {
    fn of(stage: &'a Stage, member: &Member, others: &[&Member]) -> Result<Self> {
        let others = others.iter().map(|other| Place::Cluster(other.cluster)).collect();
        let cut = Self { stage, place: Place::Cluster(member.cluster), others };
        cut.others.iter().try_for_each(|other| partition::cut(stage.lab.plan(), cut.place, *other))?;
        Ok(cut)
    }
}

impl Drop for Cut<'_> {
    fn drop(&mut self) {
        for other in &self.others {
            if let Err(error) = partition::heal(self.stage.lab.plan(), self.place, *other) {
                eprintln!("{} is still cut off from {other}: {error:#}", self.place);
            }
        }
    }
}

//! A Pod attacks a port of a Node with all that one processor can do: probes, new watches and policies must not be delayed.

mod figures;
mod scene;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use antrea_e2e::scenario::Extent;
use antrea_e2e::wait;
use anyhow::{Result, ensure};

use super::stage::on_the_stage_of;
use crate::hostile::attacker::{self, Attacker};
use crate::hostile::questions::Question;
use crate::hostile::times::Times;
use crate::hostile::{join, late, repeat};
use figures::Figures;
use scene::{Assault, AttackedPort, Scene};

/// Pods on the Node whose ports are attacked, and on the other one.
const ATTACKERS: [&str; 2] = ["z-a", "z-b"];

/// Before policies are timed: an attack has its connections by then.
const BEGINNING: Duration = Duration::from_secs(5);

/// How many agents start in each attack.
const NEWCOMERS: usize = 5;

/// What the kubelet's probe and a load balancer wait for at most, what an agent's new watch and one with a token that is new, and
/// what a policy.
const PROBE: Duration = Duration::from_secs(1);
const NEWCOMER: Duration = Duration::from_secs(1);
const WATCH: Duration = Duration::from_secs(2);
const POLICY: Duration = Duration::from_secs(1);

/// By how much a server may become larger, in KiB.
const MEMORY: u64 = 64 * 1024;

#[test]
fn a_hostile_pod_delays_no_probe_no_watch_and_no_policy() {
    on_the_stage_of(Extent::All, "a_hostile_pod_delays_no_probe_no_watch_and_no_policy", |stage| {
        attacker::allow_open_files()?;
        let scene = Scene::set(stage)?;
        let before = scene.restarts()?;
        let attacked = scene.ports.iter().map(|port| attack(&scene, port)).collect::<Result<Vec<_>>>();
        scene.forget_holder()?;
        let problems = attacked?.concat();
        let after = scene.restarts()?;
        ensure!(before == after, "programs were started again: {before:?}, then {after:?}");
        ensure!(problems.is_empty(), "{}", problems.join("\n"));
        Ok(())
    });
}

/// Attacks a port in every way; says what is wrong meanwhile.
fn attack(scene: &Scene<'_>, port: &AttackedPort) -> Result<Vec<String>> {
    let (mut problems, mut policies) = (Vec::new(), Times::default());
    for from in ATTACKERS {
        for assault in port.assaults_from(scene.stage.pod(from)?.node) {
            let what = format!("{}, {:?} from {from}", port.name, assault.attack);
            let figures = under_attack(scene, port, from, assault)?;
            println!("{what}: {figures}");
            problems.extend(complaints(&what, &figures));
            policies.add(figures.policies);
        }
    }
    println!("{}: {} policies {policies}", port.name, policies.count());
    let what = format!("{}: of 100 policies the last but one", port.name);
    problems.extend(late(&what, policies.percentile(99), POLICY));
    Ok(problems)
}

/// What others notice while the attack goes on.
fn under_attack(scene: &Scene<'_>, port: &AttackedPort, from: &str, assault: Assault) -> Result<Figures> {
    let pod = scene.stage.pod(from)?;
    let attacker = Attacker::new(&pod.network, assault.attack, assault.port)?;
    let newcomers = (0..NEWCOMERS).map(|_| scene.newcomer(pod.node)).collect::<Result<Vec<_>>>()?;
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let attack = scope.spawn(|| attacker.run(&over));
        let probe = scope.spawn(|| repeat(&over, || port.probe.time()));
        let other = scope.spawn(|| repeat(&over, || port.other_host.time()));
        let watch = scope.spawn(|| repeat(&over, || scene.watch_from(pod.node)?.time()));
        let memory = scope.spawn(|| repeat(&over, || port.memory_now()));
        wait::pause(BEGINNING);
        let newcomer = newcomers.iter().map(Question::time).collect::<Result<Vec<_>>>();
        let policies = (0..assault.policies).map(|_| scene.time_of_a_policy()).collect::<Result<Vec<_>>>();
        over.store(true, Ordering::Relaxed);
        let (attack, memory) = (join(attack), join(memory));
        Ok(Figures {
            probe: Times::of(join(probe)?),
            other_host: Times::of(join(other)?),
            watch: Times::of(join(watch)?),
            newcomer: Times::of(newcomer?),
            policies: Times::of(policies?),
            memory: memory?.into_iter().max().unwrap_or_default().saturating_sub(port.idle_memory),
            attacker: attack?,
        })
    })
}

/// What is worse than it may be, but for policies: those are judged by many.
fn complaints(what: &str, figures: &Figures) -> Vec<String> {
    let memory = (figures.memory > MEMORY).then(|| format!("{what}: {} KiB more memory", figures.memory));
    [
        late(&format!("{what}: a probe"), figures.probe.longest(), PROBE),
        late(&format!("{what}: a probe of another host"), figures.other_host.longest(), PROBE),
        late(&format!("{what}: a new watch"), figures.watch.longest(), WATCH),
        late(&format!("{what}: a new watch with a new token"), figures.newcomer.longest(), NEWCOMER),
        memory,
    ]
    .into_iter()
    .flatten()
    .collect()
}

//! Streams of packets while something happens: what policies deny never arrives, and what they admit always does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use super::stage::Stage;
use super::stream::{Count, Kind, Stream};

/// Runs without the fault. How busy a machine is changes from one to the next.
const CONTROL_RUNS: usize = 6;

/// One that is free.
const ANY_PORT: u16 = 0;

const ISOLATED: &str = "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: default-deny, namespace: x}
spec: {podSelector: {}, policyTypes: [Ingress, Egress]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: to-x-a, namespace: x}
spec:
  podSelector: {matchLabels: {app: x-a}}
  ingress: [{from: [{podSelector: {}}, {namespaceSelector: {}, podSelector: {matchLabels: {app: z-a}}}]}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: from-x-b, namespace: x}
spec:
  podSelector: {matchLabels: {app: x-b}}
  policyTypes: [Egress]
  egress: [{to: [{podSelector: {matchLabels: {app: x-a}}}]}]";

/// Streams that are denied, from the first name to the second, and streams that are established: `[("x-b", "x-a")]`.
pub(super) struct Streams {
    denied: Vec<Stream>,
    established: Vec<Stream>,
}

impl Streams {
    pub(super) fn open(
        stage: &Stage<'_>,
        denied: &[(&str, &str)],
        established: &[(&str, &str)],
    ) -> Result<Self> {
        Self::open_at(stage, ANY_PORT, denied, established)
    }

    /// The same to one port of each Pod.
    pub(super) fn open_at(
        stage: &Stage<'_>,
        port: u16,
        denied: &[(&str, &str)],
        established: &[(&str, &str)],
    ) -> Result<Self> {
        let open = |pairs: &[(&str, &str)], kind| -> Result<Vec<Stream>> {
            let mut streams = Vec::new();
            for (from, to) in pairs {
                streams.extend(Stream::open(stage.network(from)?, stage.pod(to)?, port, kind)?);
            }
            Ok(streams)
        };
        let streams =
            Self { denied: open(denied, Kind::New)?, established: open(established, Kind::Established)? };
        streams.established.iter().try_for_each(Stream::ensure_established)?;
        Ok(streams)
    }

    /// Those of Namespace `x` when it is isolated and its Pods `b` and `z-a` reach `x-a`: every kind of who is denied, and
    /// both who are admitted.
    pub(super) fn of_an_isolated_namespace(stage: &Stage<'_>) -> Result<Self> {
        stage.apply(ISOLATED)?;
        stage.ensure(
            "x-b z-a -> x-a tcp/8080 udp/8080: allowed
             z-b there -> x-a tcp/8080 udp/8080: denied
             x-a -> x-b tcp/8080 udp/8080: denied
             x-b -> z-a tcp/8080 udp/8080: denied",
        )?;
        let denied = [("z-b", "x-a"), ("there", "x-a"), ("x-a", "x-b"), ("x-b", "z-a")];
        Self::open(stage, &denied, &[("x-b", "x-a"), ("z-a", "x-a")])
    }

    /// Does `fault` while all of it is sent. An error when one packet arrives that is denied, or when a greater share of
    /// those that are established gets lost than in the worst of a few runs in which `control` goes on for as long.
    pub(super) fn ensure_hold_during(
        &self,
        fault: impl FnOnce() -> Result<()>,
        mut control: impl FnMut(Duration) -> Result<()>,
    ) -> Result<()> {
        let begun = Instant::now();
        let loss = self.loss_during(fault)?;
        let took = begun.elapsed();
        println!("{took:?}: {loss:?} of established connections");
        if loss.is_usual() {
            return Ok(());
        }
        let mut controls = Vec::new();
        while controls.len() < CONTROL_RUNS {
            let control = self.loss_during(|| control(took))?;
            println!("without the fault: {control:?}");
            if loss.is_no_more_than(&control) {
                return Ok(());
            }
            controls.push(control);
        }
        bail!("{loss:?} of established connections, and without the fault {controls:?}")
    }

    /// What of established connections got lost meanwhile, in which nothing that is denied arrived.
    fn loss_during(&self, work: impl FnOnce() -> Result<()>) -> Result<Loss> {
        let over = AtomicBool::new(false);
        let all: Vec<&Stream> = self.denied.iter().chain(&self.established).collect();
        let (result, counts) = thread::scope(|scope| {
            let running: Vec<_> = all
                .iter()
                .map(|stream| (scope.spawn(|| stream.send(&over)), scope.spawn(|| stream.receive(&over))))
                .collect();
            let result = work();
            over.store(true, Ordering::Relaxed);
            let counts = running.into_iter().map(|(sender, receiver)| {
                let join = |thread: thread::ScopedJoinHandle<'_, Result<Count>>| {
                    thread.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause))
                };
                Ok(join(sender)?.and(join(receiver)?))
            });
            (result, counts.collect::<Result<Vec<Count>>>())
        });
        let counts = counts?;
        result?;
        let mut loss = Loss { lost: 0, sent: 0 };
        for (stream, count) in all.iter().zip(counts) {
            println!("  {}: {count:?}", stream.name);
            ensure!(count.sent > 0, "{}: nothing was sent", stream.name);
            match stream.kind {
                Kind::New => ensure!(count.received + count.connected == 0, "{}: {count:?}", stream.name),
                Kind::Established => {
                    loss.lost += count.sent.saturating_sub(count.received);
                    loss.sent += count.sent;
                }
            }
        }
        Ok(loss)
    }
}

/// Packets of established connections.
#[derive(Debug)]
struct Loss {
    lost: u64,
    sent: u64,
}

impl Loss {
    /// Where two cores do everything, one in fifty packets gets lost without any fault: runs that are alike differ by that
    /// much. A second without the connections of a Pod is more.
    const fn is_usual(&self) -> bool {
        self.lost * 50 <= self.sent
    }

    /// As shares: a busier machine sends less in the same time.
    const fn is_no_more_than(&self, control: &Self) -> bool {
        self.lost * control.sent <= control.lost * self.sent
    }
}

/// A control run: for as long as that, the first Node starts and stops Pods.
pub(super) fn busy(stage: &Stage<'_>, time: Duration) -> Result<()> {
    let begun = Instant::now();
    while begun.elapsed() < time {
        stage.start_pod("z-control", "control", stage.services.here.node)?;
        stage.wait_for_pod("z-control")?;
        stage.delete_pod("z-control")?;
    }
    Ok(())
}

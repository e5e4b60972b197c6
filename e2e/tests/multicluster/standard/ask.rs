//! Clients of the Services, one in each cluster: what DNS tells them, and who answers them.

use std::collections::BTreeSet;

use antrea_e2e::pods::Pod;
use antrea_e2e::progress::all_at_once;
use antrea_types::Protocol;
use anyhow::{Result, ensure};

use super::servers::{IN_B, IN_C};
use crate::multicluster::stage::{Stage, until};

/// Twenty connections, and who answered each; one without answer is the last.
const OVER_TCP: &str = r#"
for _ in $(seq 20); do
  curl -gsSf --max-time 3 "http://$1:$2/hostname" 2>/dev/null || { echo nobody; break; }
  echo
done"#;

/// The same, each from a port of its own.
const OVER_UDP: &str = r#"
for _ in $(seq 20); do
  exec 3<>"/dev/udp/$1/$2"
  printf hostname >&3
  timeout 3 dd bs=1500 count=1 status=none <&3 || { echo nobody; break; }
  echo
  exec 3>&-
done"#;

/// Twenty connections, whose answers are all that is printed.
const IN_VAIN: &str = r#"
for _ in $(seq 20); do curl -gsSf --max-time 1 "http://$1/hostname" 2>/dev/null; done
true"#;

/// A Pod of each cluster: A, B, C.
pub(super) fn clients(stage: &Stage) -> Result<[Pod; 3]> {
    Ok([stage.example.client.clone(), stage.server(stage.b()?)?, stage.server(stage.c()?)?])
}

/// Does the same from all clusters at once.
pub(super) fn from_everywhere(stage: &Stage, work: impl Fn(&Pod) -> Result<()> + Sync) -> Result<()> {
    all_at_once(&clients(stage)?, work).map(drop)
}

/// Waits until DNS answers this and nothing else; of SRV records, without priority and weight.
pub(super) fn wait_for_records(client: &Pod, kind: &str, name: &str, expected: &[String]) -> Result<()> {
    let expected: BTreeSet<String> = expected.iter().cloned().collect();
    until(&format!("{kind} of {name} to be {expected:?} for {}", client.name), || {
        let said = client.exec(&["dig", "+short", name, kind])?;
        let found: BTreeSet<String> = said.lines().map(|line| record(kind, line)).collect();
        ensure!(found == expected, "it is {found:?}");
        ensure!(found.len() == said.lines().count(), "some are there twice: {said}");
        Ok(())
    })
}

fn record(kind: &str, line: &str) -> String {
    let priority_and_weight = if kind == "SRV" { 2 } else { 0 };
    line.split_whitespace().skip(priority_and_weight).collect::<Vec<_>>().join(" ")
}

/// Waits until a client that asks for a name is answered each time, by servers of exactly these clusters.
pub(super) fn wait_for_answers(
    client: &Pod,
    (protocol, name, port): (Protocol, &str, u16),
    expected: &[&str],
) -> Result<()> {
    let expected: BTreeSet<&str> = expected.iter().copied().collect();
    let script = if protocol == Protocol::Udp { OVER_UDP } else { OVER_TCP };
    until(&format!("{name}, {protocol} {port}, to answer {} from {expected:?}", client.name), || {
        let said = client.exec(&["bash", "-c", script, "ask", name, &port.to_string()])?;
        let found: BTreeSet<&str> = said.lines().filter(|line| !line.is_empty()).map(cluster_of).collect();
        ensure!(found == expected, "{found:?} answered: {said}");
        Ok(())
    })
}

/// Whose server it is; the answer itself where it is nobody's.
fn cluster_of(answer: &str) -> &str {
    [IN_B, IN_C].into_iter().find(|server| answer.starts_with(server)).unwrap_or(answer)
}

/// An error when any of twenty requests is answered.
pub(super) fn ensure_nobody_answers(client: &Pod, host: &str) -> Result<()> {
    let said = client.exec(&["bash", "-c", IN_VAIN, "ask", host])?;
    ensure!(said.is_empty(), "{said} answered {} at {host}", client.name);
    Ok(())
}

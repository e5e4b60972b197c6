//! What passes and what does not, as a table of text, and asking all of it at once.

use std::thread;
use std::time::Duration;

use antrea_e2e::wait;
use anyhow::{Context, Result, bail, ensure};

use super::stage::{PATIENCE, Stage};
use crate::services::ask::{Answer, Target};
use crate::services::network::Network;
use crate::services::peers::Peer;

/// For an answer that shall come. A first packet to another Node may be lost, and TCP sends it again after a second.
const FOR_AN_ANSWER: Duration = Duration::from_secs(3);

/// The same where none shall come: nothing on the way of a lab takes that long.
const FOR_SILENCE: Duration = Duration::from_millis(600);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Allowed,
    Denied,
}

/// A line of a table, about one packet.
#[derive(Debug, Clone)]
pub(super) struct Expected<'a> {
    pub(super) from: &'a Network,
    pub(super) target: Target,
    pub(super) verdict: Verdict,
}

/// Reads a table: each line stands for every way from one of its clients to its Pod, in both families.
pub(super) fn parse<'a>(stage: &'a Stage<'_>, table: &str) -> Result<Vec<Expected<'a>>> {
    let lines = table.lines().map(str::trim).filter(|line| !line.is_empty());
    let all = lines.map(|line| expand(stage, line).with_context(|| format!("{line:?}")));
    Ok(all.collect::<Result<Vec<_>>>()?.concat())
}

fn expand<'a>(stage: &'a Stage<'_>, line: &str) -> Result<Vec<Expected<'a>>> {
    let (way, verdict) = line.rsplit_once(": ").context("a line ends with `: allowed` or `: denied`")?;
    let verdict = match verdict {
        "allowed" => Verdict::Allowed,
        "denied" => Verdict::Denied,
        other => bail!("{other:?} is neither allowed nor denied"),
    };
    let (from, to) = way.split_once(" -> ").context("a line has ` -> `")?;
    let (pod, ports) = to.split_once(' ').context("a Pod, then ports")?;
    let to = stage.pod(pod)?;
    let all = from.split_whitespace().map(|from| between(stage.network(from)?, to, ports, verdict));
    Ok(all.collect::<Result<Vec<_>>>()?.concat())
}

/// The ways from somewhere to ports of a Pod: `tcp/8080 udp/8080`.
pub(super) fn between<'a>(
    from: &'a Network,
    to: &Peer,
    ports: &str,
    verdict: Verdict,
) -> Result<Vec<Expected<'a>>> {
    let ways = ports.split_whitespace().flat_map(|port| to.ips.iter().map(move |ip| (ip, port)));
    ways.map(|(ip, port)| Ok(Expected { from, target: target(*ip, port)?, verdict })).collect()
}

/// `tcp/8080`
fn target(ip: std::net::IpAddr, text: &str) -> Result<Target> {
    let (protocol, port) = text.split_once('/').context("a port is `tcp/80` or `udp/80`")?;
    let port = port.parse().context("no port")?;
    match protocol {
        "tcp" => Ok(Target::tcp(ip, port)),
        "udp" => Ok(Target::udp(ip, port)),
        other => bail!("{other} cannot be asked"),
    }
}

/// Waits until all of it is so; then it has to be so once more.
pub(super) fn ensure(all: &[Expected<'_>]) -> Result<()> {
    ensure!(!all.is_empty(), "nothing is expected");
    wait::until(PATIENCE, "what policies admit", || check(all).map(|()| true))?;
    check(all).context("it was right, and then was not")
}

/// Asks all of it at the same time, once.
pub(super) fn check(all: &[Expected<'_>]) -> Result<()> {
    let wrong = thread::scope(|scope| {
        let asked: Vec<_> = all.iter().map(|expected| scope.spawn(|| expected.complaint())).collect();
        let answers = asked
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause)));
        answers.collect::<Result<Vec<_>>>()
    })?;
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

impl Expected<'_> {
    /// What is wrong, if anything is.
    fn complaint(&self) -> Result<Option<String>> {
        let patience = match self.verdict {
            Verdict::Allowed => FOR_AN_ANSWER,
            Verdict::Denied => FOR_SILENCE,
        };
        let answer = self.target.hostname_within(patience, self.from)?;
        let passed = matches!(answer, Answer::Said(_));
        let wrong = passed != (self.verdict == Verdict::Allowed);
        let Self { from, target, verdict } = self;
        Ok(wrong.then(|| format!("{} -> {target} shall be {verdict:?}, the answer is {answer}", from.name)))
    }
}

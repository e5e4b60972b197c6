//! `ping` fifty times a second, and what became of each.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use antrea_e2e::command::{KilledOnDrop, Run as _};
use antrea_e2e::ping_answer::PingAnswer;
use antrea_e2e::wait;
use anyhow::{Context, Result, ensure};

use crate::namespace::program_in;
use crate::node::PATIENCE;

/// How many answers show that packets pass.
pub(crate) const MORE: usize = 50;

/// A ping that goes on.
pub(crate) struct Ping {
    to: IpAddr,
    _program: KilledOnDrop,
    output: PathBuf,
    /// The last request that was answered before anything else began. Of two requests on their way at the beginning the
    /// kernel drops one, when both are the first one of their connection to it.
    established: u16,
}

/// What became of a ping.
#[derive(Debug)]
pub(crate) struct Outcome {
    to: IpAddr,
    answered: usize,
    /// The numbers of requests without an answer, from the connection being established up to the last that got one.
    pub(crate) lost: Vec<u16>,
    /// Between two answers.
    longest_gap: Duration,
}

/// Three pings, each answered.
pub(crate) fn ping(from: &str, to: IpAddr) -> Result<()> {
    let mut ping = program_in(from, "ping");
    let output = ping.args(["-n", "-q", "-c", "3", "-i", "0.2", "-W", "10", &to.to_string()]).text()?;
    ensure!(output.contains(" 3 received"), "{from} -> {to}: {output}");
    Ok(())
}

impl Ping {
    /// Starts it, and waits until there are answers.
    pub(crate) fn start(from: &str, to: IpAddr) -> Result<Self> {
        let output = PathBuf::from(format!("/run/ping-{from}-{to}"));
        let file = File::create(&output).context("cannot write the output of ping")?;
        let mut ping = program_in(from, "ping");
        ping.args(["-n", "-D", "-i", "0.02", &to.to_string()]).stdin(Stdio::null()).stdout(file);
        let program = KilledOnDrop::spawn(&mut ping)?;
        let mut ping = Self { to, _program: program, output, established: 0 };
        ping.wait_for_answers(MORE)?;
        ping.established = last(&ping.answers()?)?;
        Ok(ping)
    }

    /// Waits until there are `more` answers than now.
    pub(crate) fn wait_for_answers(&self, more: usize) -> Result<()> {
        let before = self.answers()?.len();
        wait::until(PATIENCE, "answers to a ping", || Ok(self.answers()?.len() >= before + more))
    }

    /// Ends it after some more answers.
    pub(crate) fn stop(self) -> Result<Outcome> {
        self.wait_for_answers(MORE)?;
        outcome(self.to, self.established, &self.answers()?)
    }

    fn answers(&self) -> Result<Vec<PingAnswer>> {
        let text = fs::read_to_string(&self.output).context("cannot read the output of ping")?;
        Ok(text.lines().filter_map(PingAnswer::read).collect())
    }
}

fn last(answers: &[PingAnswer]) -> Result<u16> {
    answers.iter().map(|answer| answer.number).max().context("no answer")
}

fn outcome(to: IpAddr, established: u16, answers: &[PingAnswer]) -> Result<Outcome> {
    let answered: BTreeSet<u16> = answers.iter().map(|answer| answer.number).collect();
    let lost = (established + 1..=last(answers)?).filter(|number| !answered.contains(number));
    let gaps = answers.windows(2).map(|pair| pair[1].at.saturating_sub(pair[0].at));
    Ok(Outcome {
        to,
        answered: answers.len(),
        lost: lost.collect(),
        longest_gap: gaps.max().unwrap_or_default(),
    })
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { to, answered, lost, longest_gap } = self;
        write!(
            f,
            "{to}: {answered} pings answered, {} lost {lost:?}, longest gap {:.3} s",
            lost.len(),
            longest_gap.as_secs_f64()
        )
    }
}

#[test]
fn requests_without_an_answer_are_told_once_there_is_a_connection() {
    let line = |time: &str, number: u32| {
        format!("[{time}] 64 bytes from 10.0.0.1: icmp_seq={number} ttl=64 time=0.1 ms")
    };
    let lines = [
        "PING 10.0.0.1".to_owned(),
        line("10.000000", 1),
        line("10.100000", 2),
        line("10.600000", 5),
        line("10.610000", 4),
    ];
    let answers: Vec<PingAnswer> = lines.iter().filter_map(|line| PingAnswer::read(line)).collect();
    let told = |established| outcome("10.0.0.1".parse().unwrap(), established, &answers).unwrap().to_string();
    assert_eq!(told(0), "10.0.0.1: 4 pings answered, 1 lost [3], longest gap 0.500 s");
    assert_eq!(told(3), "10.0.0.1: 4 pings answered, 0 lost [], longest gap 0.500 s");
}

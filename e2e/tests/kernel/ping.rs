//! `ping` fifty times a second, and what became of each.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use antrea_e2e::command::Run as _;
use antrea_e2e::wait;
use anyhow::{Context, Result, ensure};

use crate::namespace::program_in;
use crate::node::PATIENCE;

/// How many answers show that packets pass.
pub(crate) const MORE: usize = 50;

/// A ping that goes on.
pub(crate) struct Ping {
    to: IpAddr,
    program: Child,
    output: PathBuf,
    /// The last request that was answered before anything else began. Of two requests on their way at the beginning the
    /// kernel drops one, when both are the first one of their connection to it.
    established: u32,
}

/// What became of a ping.
#[derive(Debug)]
pub(crate) struct Outcome {
    to: IpAddr,
    answered: usize,
    /// The numbers of requests without an answer, from the connection being established up to the last that got one.
    pub(crate) lost: Vec<u32>,
    /// Between two answers, in seconds.
    longest_gap: f64,
}

struct Answer {
    /// In seconds.
    time: f64,
    number: u32,
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
        let program = ping.spawn().context("cannot run ping")?;
        let mut ping = Self { to, program, output, established: 0 };
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

    fn answers(&self) -> Result<Vec<Answer>> {
        let text = fs::read_to_string(&self.output).context("cannot read the output of ping")?;
        Ok(text.lines().filter_map(answer).collect())
    }
}

impl Drop for Ping {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// `[1700000000.123456] 64 bytes from 10.0.0.1: icmp_seq=7 ttl=64 time=0.1 ms`
fn answer(line: &str) -> Option<Answer> {
    let (time, rest) = line.strip_prefix('[')?.split_once(']')?;
    let number = rest.split_once("icmp_seq=")?.1.split_once(" ttl=")?.0;
    Some(Answer { time: time.parse().ok()?, number: number.parse().ok()? })
}

fn last(answers: &[Answer]) -> Result<u32> {
    answers.iter().map(|answer| answer.number).max().context("no answer")
}

fn outcome(to: IpAddr, established: u32, answers: &[Answer]) -> Result<Outcome> {
    let answered: BTreeSet<u32> = answers.iter().map(|answer| answer.number).collect();
    let lost = (established + 1..=last(answers)?).filter(|number| !answered.contains(number));
    let gaps = answers.windows(2).map(|pair| pair[1].time - pair[0].time);
    Ok(Outcome { to, answered: answers.len(), lost: lost.collect(), longest_gap: gaps.fold(0.0, f64::max) })
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { to, answered, lost, longest_gap } = self;
        write!(
            f,
            "{to}: {answered} pings answered, {} lost {lost:?}, longest gap {longest_gap:.3} s",
            lost.len()
        )
    }
}

#[test]
fn requests_without_an_answer_are_told_once_there_is_a_connection() {
    let line = |time: &str, number: u32| {
        format!("[{time}] 64 bytes from 10.0.0.1: icmp_seq={number} ttl=64 time=0.1 ms")
    };
    let lines =
        ["PING 10.0.0.1".to_owned(), line("10.0", 1), line("10.1", 2), line("10.6", 5), line("10.61", 4)];
    let answers: Vec<Answer> = lines.iter().filter_map(|line| answer(line)).collect();
    let told = |established| outcome("10.0.0.1".parse().unwrap(), established, &answers).unwrap().to_string();
    assert_eq!(told(0), "10.0.0.1: 4 pings answered, 1 lost [3], longest gap 0.500 s");
    assert_eq!(told(3), "10.0.0.1: 4 pings answered, 0 lost [], longest gap 0.500 s");
}

//! Echo requests, fifty a second, and what became of each.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use antrea_e2e::command::Run as _;
use antrea_e2e::echo::{Answer, EchoRequests};
use antrea_e2e::wait;
use anyhow::{Context, Result, ensure};

use crate::namespace::{program_in, within};
use crate::node::PATIENCE;

const INTERVAL: Duration = Duration::from_millis(20);

/// How many answers show that packets pass.
pub(crate) const MORE: usize = 50;

/// A ping that goes on.
pub(crate) struct Ping {
    to: IpAddr,
    requests: EchoRequests,
    /// The last request that was answered before anything else began. Of two requests on their way at the beginning the
    /// kernel drops one, when both are the first one of their connection to it.
    established: u64,
}

/// What became of a ping.
#[derive(Debug)]
pub(crate) struct Outcome {
    to: IpAddr,
    answered: usize,
    /// The numbers of requests without an answer, from the connection being established up to the last that got one.
    pub(crate) lost: Vec<u64>,
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
        let requests = within(from, || EchoRequests::start(to, INTERVAL))?;
        let mut ping = Self { to, requests, established: 0 };
        ping.wait_for_answers(MORE)?;
        ping.established = last(&ping.requests.answers())?;
        Ok(ping)
    }

    /// Waits until there are `more` answers than now.
    pub(crate) fn wait_for_answers(&self, more: usize) -> Result<()> {
        let before = self.requests.answers().len();
        wait::until(PATIENCE, "answers to a ping", || Ok(self.requests.answers().len() >= before + more))
    }

    /// Ends it after some more answers.
    pub(crate) fn stop(self) -> Result<Outcome> {
        self.wait_for_answers(MORE)?;
        outcome(self.to, self.established, &self.requests.answers())
    }
}

fn last(answers: &[Answer]) -> Result<u64> {
    answers.iter().map(|answer| answer.number).max().context("no answer")
}

fn outcome(to: IpAddr, established: u64, answers: &[Answer]) -> Result<Outcome> {
    let answered: BTreeSet<u64> = answers.iter().map(|answer| answer.number).collect();
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
    let answer = |(at, number)| Answer { number, at: Duration::from_millis(at) };
    let answers = [(10_000, 1), (10_100, 2), (10_600, 5), (10_610, 4)].map(answer);
    let told = |established| outcome("10.0.0.1".parse().unwrap(), established, &answers).unwrap().to_string();
    assert_eq!(told(0), "10.0.0.1: 4 pings answered, 1 lost [3], longest gap 0.500 s");
    assert_eq!(told(3), "10.0.0.1: 4 pings answered, 0 lost [], longest gap 0.500 s");
}

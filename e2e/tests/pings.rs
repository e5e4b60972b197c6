//! A ping that goes on inside a Pod by itself: what it lost, between which moments, and how long it heard nothing.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use antrea_e2e::echo::{Answer, EchoRequests};
use antrea_e2e::lab::Lab;
use antrea_e2e::names::NodeId;
use antrea_e2e::pods::Pod;
use antrea_e2e::wait;
use anyhow::{Result, ensure};

use crate::services::network::Network;

/// A ping at work.
pub(crate) struct Ping {
    path: Path,
    requests: EchoRequests,
}

/// Where a ping goes: from Pod to Pod, and the Nodes of both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) nodes: [NodeId; 2],
    name: String,
}

/// Packets without an answer, all between two that have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Loss {
    pub(crate) packets: u64,
    pub(crate) from: Duration,
    pub(crate) to: Duration,
}

/// The answers to a ping, in the order of its packets.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) path: Path,
    answers: Vec<Answer>,
}

impl Ping {
    /// Starts it, and waits for its first answers.
    pub(crate) fn start(
        lab: &Lab,
        from: &Pod,
        (to, address): (&Pod, IpAddr),
        interval: Duration,
    ) -> Result<Self> {
        let path =
            Path { nodes: [from.node, to.node], name: format!("{} → {} {address}", from.name, to.name) };
        let network = Network::of_pod(lab, from.node, &from.name)?;
        let requests = network.within(|| EchoRequests::start(address, interval))?;
        wait::until(Duration::from_secs(20), "the first answers to a ping", || {
            Ok(requests.answers().len() >= 5)
        })?;
        Ok(Self { path, requests })
    }

    /// How many answers there were since nothing was heard for that long.
    pub(crate) fn answers_after(&self, silence: Duration) -> usize {
        let answers = self.requests.answers();
        let pairs = answers.iter().zip(answers.iter().skip(1));
        let silent = |(before, after): (&Answer, &Answer)| after.at.saturating_sub(before.at) > silence;
        pairs.map(silent).rev().position(|silent| silent).map_or(0, |position| position + 1)
    }

    /// Ends it.
    pub(crate) fn end(self) -> Result<Record> {
        Record::of(self.path, self.requests.answers())
    }
}

impl Record {
    fn of(path: Path, mut answers: Vec<Answer>) -> Result<Self> {
        ensure!(answers.len() > 1, "{}: nothing answered the ping", path.name);
        answers.sort_by_key(|answer| answer.number);
        answers.dedup_by_key(|answer| answer.number);
        Ok(Self { path, answers })
    }

    /// What was lost, in the order of the packets.
    pub(crate) fn losses(&self) -> Vec<Loss> {
        let pairs = self.answers.iter().zip(self.answers.iter().skip(1));
        let loss = |(before, after): (&Answer, &Answer)| Loss {
            packets: after.number - before.number - 1,
            from: before.at,
            to: after.at,
        };
        pairs.map(loss).filter(|loss| loss.packets > 0).collect()
    }

    /// How many packets that was.
    pub(crate) fn lost(&self) -> u64 {
        self.losses().iter().map(|loss| loss.packets).sum()
    }

    /// The longest time between an answer and the next.
    pub(crate) fn longest_silence(&self) -> Duration {
        let mut times: Vec<Duration> = self.answers.iter().map(|answer| answer.at).collect();
        times.sort();
        let between = times.iter().zip(times.iter().skip(1)).map(|(before, after)| *after - *before);
        between.max().unwrap_or_default()
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lost, silence) = (self.lost(), self.longest_silence().as_millis());
        write!(
            f,
            "{}: {} answers, {lost} lost, nothing heard for {silence} ms",
            self.path.name,
            self.answers.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of answers, each a time in milliseconds and a number.
    fn record(answers: &[(u64, u64)]) -> Record {
        let answer = |(at, number): &(u64, u64)| Answer { number: *number, at: Duration::from_millis(*at) };
        let node = "c1-n1".parse().unwrap();
        let path = Path { nodes: [node, node], name: "a → b".into() };
        Record::of(path, answers.iter().map(answer).collect()).unwrap()
    }

    #[test]
    fn what_is_missing_between_two_answers_was_lost() {
        let record = record(&[(0, 3), (10, 4), (250, 28), (260, 29), (300, 31)]);
        assert_eq!(record.to_string(), "a → b: 5 answers, 24 lost, nothing heard for 240 ms");
        let losses: Vec<_> =
            record.losses().iter().map(|loss| (loss.packets, (loss.to - loss.from).as_millis())).collect();
        assert_eq!(losses, [(23, 240), (1, 40)]);
    }

    #[test]
    fn answers_that_come_late_or_twice_are_no_loss() {
        assert_eq!(record(&[(0, 1), (10, 3), (11, 2), (12, 2), (20, 4)]).lost(), 0);
    }
}

//! A ping that goes on inside a Pod by itself: what it lost, between which moments, and how long it heard nothing.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use antrea_e2e::names::NodeId;
use antrea_e2e::ping_answer::PingAnswer;
use antrea_e2e::pods::Pod;
use antrea_e2e::wait;
use anyhow::{Context, Result, ensure};

/// By its path: `setsid` is busybox's, which would run its own `ping`, without the time of each answer.
const START: &str =
    r#"rm -f "$1"; setsid /usr/bin/ping -D -n -i "$2" "$3" </dev/null >"$1" 2>&1 & echo $! >"$1.pid""#;
const STOP: &str = r#"kill -INT "$(cat "$1.pid")""#;

/// A ping at work.
pub(crate) struct Ping {
    from: Pod,
    path: Path,
    file: String,
}

/// Where a ping goes: from Pod to Pod, and the Nodes of both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) nodes: [NodeId; 2],
    name: String,
}

/// An answer: when it came since 1970, and to which packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Answer {
    sequence: i64,
    at: Duration,
}

/// Packets without an answer, all between two that have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Loss {
    pub(crate) packets: i64,
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
    pub(crate) fn start(from: &Pod, (to, address): (&Pod, IpAddr), interval: Duration) -> Result<Self> {
        let path =
            Path { nodes: [from.node, to.node], name: format!("{} → {} {address}", from.name, to.name) };
        let (file, seconds) = (format!("/tmp/ping-{address}"), format!("{:.3}", interval.as_secs_f64()));
        from.exec(&["bash", "-c", START, "start", &file, &seconds, &address.to_string()])?;
        let ping = Self { from: from.clone(), path, file };
        wait::until(Duration::from_secs(20), "the first answers to a ping", || {
            Ok(ping.printed()?.matches("bytes from").count() >= 5)
        })?;
        Ok(ping)
    }

    /// Ends it.
    pub(crate) fn end(self) -> Result<Record> {
        self.from.exec(&["bash", "-c", STOP, "stop", &self.file])?;
        let text = wait::eventually(Duration::from_secs(20), "a ping to end", || {
            Ok(Some(self.printed()?).filter(|text| text.contains(" packets transmitted, ")))
        })?;
        Record::parse(self.path, &text)
    }

    fn printed(&self) -> Result<String> {
        self.from.exec(&["cat", &self.file])
    }
}

impl Record {
    /// Reads what `ping -D` of iputils prints.
    fn parse(path: Path, text: &str) -> Result<Self> {
        let mut answers: Vec<Answer> = Vec::new();
        // The number in the packet has 16 bits, and begins anew every 65,536 packets.
        let mut newest: Option<Answer> = None;
        for line in text.lines().filter(|line| line.contains(" bytes from ")) {
            let PingAnswer { at, number } =
                PingAnswer::read(line).with_context(|| format!("{line:?} is no answer to a ping"))?;
            let answer = Answer { sequence: nearest(newest.map_or(0, |newest| newest.sequence), number), at };
            newest = newest.filter(|newest| newest.sequence > answer.sequence).or(Some(answer));
            answers.push(answer);
        }
        ensure!(answers.len() > 1, "{}: nothing answered the ping: {text}", path.name);
        answers.sort_by_key(|answer| answer.sequence);
        answers.dedup_by_key(|answer| answer.sequence);
        Ok(Self { path, answers })
    }

    /// What was lost, in the order of the packets.
    pub(crate) fn losses(&self) -> Vec<Loss> {
        let pairs = self.answers.iter().zip(self.answers.iter().skip(1));
        let loss = |(before, after): (&Answer, &Answer)| Loss {
            packets: after.sequence - before.sequence - 1,
            from: before.at,
            to: after.at,
        };
        pairs.map(loss).filter(|loss| loss.packets > 0).collect()
    }

    /// How many packets that was.
    pub(crate) fn lost(&self) -> i64 {
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

/// The sequence number next to `sequence` whose last 16 bits are `number`.
fn nearest(sequence: i64, number: u16) -> i64 {
    let distance = (i64::from(number) - sequence).rem_euclid(1 << 16);
    sequence + if distance < 1 << 15 { distance } else { distance - (1 << 16) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of answers, each a time in milliseconds and a number.
    fn record(answers: &[(u64, u16)]) -> Record {
        let line = |(at, number): &(u64, u16)| {
            let (seconds, fraction) = (1_795_285_976 + at / 1000, at % 1000 * 1000);
            format!("[{seconds}.{fraction:06}] 64 bytes from 10.0.0.2: icmp_seq={number} ttl=62 time=1 ms\n")
        };
        let lines: String = answers.iter().map(line).collect();
        let text = format!("PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.\n{lines}\n--- statistics ---\n");
        let node = "c1-n1".parse().unwrap();
        Record::parse(Path { nodes: [node, node], name: "a → b".into() }, &text).unwrap()
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

    #[test]
    fn numbers_begin_anew_after_16_bits() {
        let record = record(&[(0, 40_000), (1, 65_534), (2, 65_535), (3, 0), (4, 2)]);
        assert_eq!(record.lost(), 65_534 - 40_000 - 1 + 1);
    }
}

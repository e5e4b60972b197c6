//! One question to the network, and how many of them are asked by one script.

use std::fmt::{self, Write as _};

use antrea_types::IpFamily;

use crate::names::NodeId;

/// Where a question is asked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// In a Pod, by its name.
    Pod(String),
    /// On a Node, among its own programs.
    Node(NodeId),
}

/// A question: a command and what has to come out of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Where it is asked.
    pub source: Source,
    /// Who is to be reached.
    pub target: String,
    /// What is tried: `ping`.
    pub what: &'static str,
    /// Over which family, where one is prescribed.
    pub family: Option<IpFamily>,
    /// A line for bash. `$mtu` is the MTU of a Pod's eth0.
    pub command: String,
    /// What it has to print or do.
    pub expected: Expected,
}

/// What a command has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// End with 0.
    Success,
    /// Print one of these and nothing else.
    OneOf(Vec<String>),
    /// Print this somewhere, however it ends.
    Containing(&'static str),
}

/// What came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The question.
    pub probe: Probe,
    /// Why it does not hold; none when it does.
    pub cause: Option<String>,
}

/// How much of what a command printed is looked at.
const SHOWN: usize = 300;

/// A script for bash that runs all commands at the same time, and prints a line for each: its index, the exit code,
/// and the end of what it printed.
pub fn script(probes: &[&Probe]) -> String {
    let mut text =
        String::from("mtu=$(cat /sys/class/net/eth0/mtu)\nprobe() {\n  text=$(eval \"$2\" 2>&1); code=$?\n");
    // A line of less than 4096 bytes is written in one piece, whoever else writes.
    let _ = writeln!(
        text,
        "  printf '%s %s %s\\n' \"$1\" \"$code\" \"$(printf %s \"$text\" | tr '\\n' ' ' | tail -c {SHOWN})\"\n}}"
    );
    for (index, probe) in probes.iter().enumerate() {
        let _ = writeln!(text, "probe {index} '{}' &", probe.command.replace('\'', r"'\''"));
    }
    text + "wait\n"
}

/// Reads what [`script`] printed.
pub fn outcomes(probes: &[&Probe], printed: &str) -> Vec<Outcome> {
    let line_of = |index: usize| {
        printed.lines().find_map(|line| line.strip_prefix(&format!("{index} "))).and_then(|rest| {
            let (code, text) = rest.split_once(' ')?;
            Some((code.parse::<i32>().ok()?, text.trim()))
        })
    };
    let outcome = |(index, probe): (usize, &&Probe)| Outcome {
        probe: Probe::clone(probe),
        cause: match line_of(index) {
            Some((code, text)) => probe.expected.unmet(code, text),
            None => Some("it did not end".to_owned()),
        },
    };
    probes.iter().enumerate().map(outcome).collect()
}

impl Expected {
    /// Why a command that ended like this is not what was expected.
    fn unmet(&self, code: i32, text: &str) -> Option<String> {
        let holds = match self {
            Self::Success => code == 0,
            Self::OneOf(wanted) => code == 0 && wanted.iter().any(|wanted| wanted == text),
            Self::Containing(wanted) => text.contains(wanted),
        };
        (!holds).then(|| format!("expected {self}, got {text:?} and exit code {code}"))
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Success => f.write_str("an answer"),
            Self::OneOf(wanted) => f.write_str(&wanted.join(" or ")),
            Self::Containing(wanted) => write!(f, "… {wanted} …"),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod(name) => f.write_str(name),
            Self::Node(node) => node.fmt(f),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Probe { source, target, what, family, .. } = &self.probe;
        write!(f, "{} {source} → {target}: {what}", if self.cause.is_none() { "✓" } else { "✗" })?;
        if let Some(family) = family {
            write!(f, " over {family}")?;
        }
        self.cause.iter().try_for_each(|cause| write!(f, ": {cause}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Run as _, command};

    fn probe(command: &str, expected: Expected) -> Probe {
        let (source, command) = (Source::Pod("a".into()), command.to_owned());
        Probe { source, target: "b".into(), what: "test", family: Some(IpFamily::V6), command, expected }
    }

    fn check(probes: &[Probe], expected: &[&str]) {
        let probes: Vec<&Probe> = probes.iter().collect();
        let printed = command("bash", &["-s"]).feed(&script(&probes)).unwrap();
        let lines: Vec<String> = outcomes(&probes, &printed).iter().map(ToString::to_string).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn every_command_runs_and_is_judged_on_its_own() {
        let hello = || Expected::OneOf(vec!["hi".into(), "hello".into()]);
        check(
            &[
                probe("true", Expected::Success),
                probe("echo no >&2; false", Expected::Success),
                probe("printf 'hel''lo'", hello()),
                probe("printf '%s\n' hello you", hello()),
                probe("echo so long; exit 3", Expected::Containing("long")),
            ],
            &[
                "✓ a → b: test over IPv6",
                "✗ a → b: test over IPv6: expected an answer, got \"no\" and exit code 1",
                "✓ a → b: test over IPv6",
                "✗ a → b: test over IPv6: expected hi or hello, got \"hello you\" and exit code 0",
                "✓ a → b: test over IPv6",
            ],
        );
    }

    #[test]
    fn a_line_that_is_missing_is_a_failure() {
        let probe = probe("true", Expected::Success);
        assert_eq!(outcomes(&[&probe], "1 0 \n")[0].cause.as_deref(), Some("it did not end"));
    }
}

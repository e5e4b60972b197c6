//! What came out of all questions: for people a line for each pair, or a matrix, and the causes of what failed.

use std::fmt;

use anyhow::{Result, ensure};

use super::probe::Outcome;

/// The outcomes of a check.
#[derive(Debug, Clone, Default)]
pub struct Report {
    outcomes: Vec<Outcome>,
}

/// All that was asked from one source about one target.
#[derive(Debug, Clone)]
pub struct Pair {
    /// Where it was asked.
    pub source: String,
    /// Who was to be reached.
    pub target: String,
    /// What was tried, each once, and over which families.
    pub tried: Vec<String>,
    /// How many questions there were.
    pub asked: usize,
    /// What did not hold.
    pub failed: Vec<Outcome>,
}

impl Report {
    pub(super) fn add(&mut self, outcomes: Vec<Outcome>) {
        self.outcomes.extend(outcomes);
    }

    /// Whether there were questions and all got the answer they should.
    pub fn holds(&self) -> bool {
        !self.outcomes.is_empty() && self.outcomes.iter().all(|outcome| outcome.cause.is_none())
    }

    /// An error with the matrix and all causes unless it holds.
    ///
    /// # Errors
    /// That error.
    pub fn ensure_holds(&self) -> Result<()> {
        ensure!(self.holds(), "not everybody reaches everybody:\n{self}");
        Ok(())
    }

    /// Pair by pair: Pods before Nodes, each by name.
    pub fn pairs(&self) -> Vec<Pair> {
        let mut sorted: Vec<&Outcome> = self.outcomes.iter().collect();
        sorted.sort_by_key(|outcome| (&outcome.probe.source, &outcome.probe.target));
        let same = |a: &&Outcome, b: &&Outcome| {
            (&a.probe.source, &a.probe.target) == (&b.probe.source, &b.probe.target)
        };
        sorted.chunk_by(same).filter_map(pair).collect()
    }
}

fn pair(outcomes: &[&Outcome]) -> Option<Pair> {
    let first = &outcomes.first()?.probe;
    let mut tried: Vec<String> = Vec::new();
    let mut families: Vec<String> = Vec::new();
    for probe in outcomes.iter().map(|outcome| &outcome.probe) {
        let note = |list: &mut Vec<String>, text: String| {
            if !list.contains(&text) {
                list.push(text);
            }
        };
        note(&mut tried, probe.what.to_owned());
        if let Some(family) = probe.family {
            note(&mut families, family.to_string());
        }
    }
    families.sort();
    if let (Some(last), false) = (tried.last_mut(), families.is_empty()) {
        *last = format!("{last}; {}", families.join(" and "));
    }
    let failed = outcomes.iter().filter(|outcome| outcome.cause.is_some());
    Some(Pair {
        source: first.source.to_string(),
        target: first.target.clone(),
        tried,
        asked: outcomes.len(),
        failed: failed.map(|outcome| Outcome::clone(outcome)).collect(),
    })
}

/// A line, and one more for each failure.
impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.failed.is_empty() { "✓" } else { "✗" };
        write!(f, "{mark} {:<12} → {:<12} {}", self.source, self.target, self.tried.join(", "))?;
        self.failed.iter().try_for_each(|outcome| write!(f, "\n    {outcome}"))
    }
}

const CORNER: &str = "from \\ to";

/// A matrix, and below it what failed.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs = self.pairs();
        let (mut rows, mut columns): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        for pair in &pairs {
            if !rows.contains(&pair.source.as_str()) {
                rows.push(&pair.source);
            }
            if !columns.contains(&pair.target.as_str()) {
                columns.push(&pair.target);
            }
        }
        columns.sort_unstable();
        let names = columns.iter().chain(&rows).chain([&CORNER]);
        let width = names.map(|name| name.len()).max().unwrap_or(0) + 2;
        let head: String = columns.iter().map(|name| format!("{name:<width$}")).collect();
        writeln!(f, "{CORNER:<width$}{}", head.trim_end())?;
        for row in rows {
            let cells: String =
                columns.iter().map(|column| format!("{:<width$}", cell(&pairs, row, column))).collect();
            writeln!(f, "{row:<width$}{}", cells.trim_end())?;
        }
        let failures = pairs.iter().flat_map(|pair| &pair.failed);
        failures.into_iter().try_for_each(|outcome| writeln!(f, "{outcome}"))
    }
}

fn cell(pairs: &[Pair], row: &str, column: &str) -> String {
    match pairs.iter().find(|pair| pair.source == row && pair.target == column) {
        None => "·".to_owned(),
        Some(pair) if pair.failed.is_empty() => "✓".to_owned(),
        Some(pair) => format!("✗ {}/{}", pair.failed.len(), pair.asked),
    }
}

#[cfg(test)]
mod tests {
    use antrea_types::IpFamily;

    use super::super::probe::{Expected, Probe, Source};
    use super::*;

    fn outcome(from: &str, to: &str, what: &'static str, family: IpFamily, cause: Option<&str>) -> Outcome {
        let probe = Probe {
            source: Source::Pod(from.into()),
            target: to.into(),
            what,
            family: Some(family),
            command: String::new(),
            expected: Expected::Success,
        };
        Outcome { probe, cause: cause.map(str::to_owned) }
    }

    fn report() -> Report {
        let outcomes = vec![
            outcome("b", "a", "ping", IpFamily::V4, None),
            outcome("a", "b", "ping", IpFamily::V4, None),
            outcome("a", "b", "HTTP", IpFamily::V4, None),
            outcome("a", "b", "ping", IpFamily::V6, Some("nobody answers")),
        ];
        Report { outcomes }
    }

    #[test]
    fn a_matrix_shows_who_does_not_reach_whom_and_why() {
        insta::assert_snapshot!(report(), @r"
        from \ to  a          b
        a          ·          ✗ 1/3
        b          ✓          ·
        ✗ a → b: ping over IPv6: nobody answers
        ");
    }

    #[test]
    fn a_pair_is_one_line() {
        let lines: Vec<String> = report().pairs().iter().map(ToString::to_string).collect();
        assert_eq!(lines[1], "✓ b            → a            ping; IPv4");
        assert!(
            lines[0].starts_with("✗ a            → b            ping, HTTP; IPv4 and IPv6\n"),
            "{}",
            lines[0]
        );
    }

    #[test]
    fn nothing_asked_is_nothing_shown() {
        assert!(!Report::default().holds() && report().ensure_holds().is_err());
    }
}

//! `--only`: one workload of an area.

use anyhow::{Result, ensure};

use super::Figure;

/// What of an area is measured: all of it, or one workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choice<'a>(Option<&'a str>);

impl<'a> Choice<'a> {
    /// All workloads, or `only` that one.
    pub(super) fn of(only: Option<&'a str>, area: &str, workloads: &[&str]) -> Result<Self> {
        let there = if workloads.is_empty() { "none".to_owned() } else { workloads.join(", ") };
        ensure!(
            only.is_none_or(|only| workloads.contains(&only)),
            "area {area} has no workload {:?} that is measured alone; there are: {there}",
            only.unwrap_or_default()
        );
        Ok(Self(only))
    }

    /// Whether a workload is measured.
    pub(super) fn wants(self, workload: &str) -> bool {
        self.0.is_none_or(|only| only == workload)
    }

    /// Whether one of these is, so that what they share is needed.
    pub(super) fn wants_one_of(self, workloads: &[&str]) -> bool {
        workloads.iter().any(|workload| self.wants(workload))
    }

    /// Whether a figure is of what was chosen. That of `Leader10x50Written` is one of Leader10x50.
    pub(super) fn covers(self, figure: &Figure) -> bool {
        let workload = figure.name.split('/').nth(1).unwrap_or_default();
        self.0.is_none_or(|only| {
            let rest = workload.strip_prefix(only).map(|rest| rest.chars().next());
            rest.is_some_and(|next| next.is_none_or(|next| next.is_ascii_uppercase()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKLOADS: [&str; 3] = ["Members50", "Members500", "Join"];

    #[track_caller]
    fn check(only: Option<&str>, expected: &[&str]) {
        let choice = Choice::of(only, "multicluster", &WORKLOADS).unwrap();
        let figures = ["Members50", "Members50Idle", "Members500", "Members500Idle", "Join"];
        let covered: Vec<&str> = figures
            .into_iter()
            .filter(|name| choice.covers(&Figure::seconds(format!("multicluster/{name}/seconds"), 1.0)))
            .collect();
        assert_eq!(covered, expected);
    }

    #[test]
    fn a_figure_belongs_to_the_workload_that_its_name_begins_with() {
        check(None, &["Members50", "Members50Idle", "Members500", "Members500Idle", "Join"]);
        check(Some("Members50"), &["Members50", "Members50Idle"]);
        check(Some("Members500"), &["Members500", "Members500Idle"]);
    }

    #[test]
    fn what_a_chosen_workload_does_not_need_is_left_out() {
        let choice = Choice::of(Some("Join"), "multicluster", &WORKLOADS).unwrap();
        assert!(choice.wants("Join") && choice.wants_one_of(&["Members50", "Join"]));
        assert!(!choice.wants("Members50") && !choice.wants_one_of(&["Members50", "Members500"]));
    }

    #[test]
    fn a_workload_that_is_not_there_is_refused() {
        let refused =
            |workloads: &[&str]| Choice::of(Some("Joint"), "cni", workloads).unwrap_err().to_string();
        assert_eq!(
            refused(&["Add", "Del"]),
            "area cni has no workload \"Joint\" that is measured alone; there are: Add, Del"
        );
        assert!(refused(&[]).ends_with("there are: none"));
    }
}

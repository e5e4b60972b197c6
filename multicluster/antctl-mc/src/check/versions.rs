//! Versions: a leader and its members are at most one minor version apart.

use super::finding::Finding;

const CHECK: &str = "versions";

/// Compares members, by cluster ID, with `own`: the version of antctl-mc, which is released with the leader's
/// controller. Members that say no version are upstream's.
pub(crate) fn check(own: &str, members: &[(String, String)]) -> Vec<Finding> {
    if members.is_empty() {
        return vec![Finding::skipped(CHECK, "there are no members yet")];
    }
    let mut findings = Vec::new();
    for (cluster, version) in members.iter().filter(|(_, version)| !version.is_empty()) {
        let cause = match (minor(own), minor(version)) {
            (_, None) => format!("cluster {cluster} says that its version is {version:?}, which is none"),
            (Some((own_major, own_minor)), Some((major, minor)))
                if major != own_major || minor.abs_diff(own_minor) > 1 =>
            {
                format!("cluster {cluster} has version {version}, more than one minor version from {own}")
            }
            _ => continue,
        };
        let fix = "Upgrade Multi-cluster one minor version at a time, the leader first, then each member.";
        findings.push(Finding::failed(CHECK, cause, fix));
    }
    if findings.is_empty() {
        let list = members.iter().map(|(cluster, version)| match version.as_str() {
            "" => format!("{cluster} of upstream"),
            version => format!("{cluster} {version}"),
        });
        findings.push(Finding::passed(CHECK, list.collect::<Vec<_>>().join(", ")));
    }
    findings
}

/// Major and minor version of `v1.2.3-x`.
fn minor(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.strip_prefix('v').unwrap_or(version).split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::finding::text;

    #[track_caller]
    fn check_text(versions: &[&str], expected: &str) {
        let members: Vec<(String, String)> = versions
            .iter()
            .zip(["east", "west"])
            .map(|(version, cluster)| (cluster.to_owned(), (*version).to_owned()))
            .collect();
        let text = text(&check("0.3.1", &members));
        assert_eq!(text.lines().next().unwrap(), expected);
    }

    #[test]
    fn neighbouring_versions_work_together() {
        check_text(&["v0.2.0", "0.4.7-rc.1"], "versions: passed: east v0.2.0, west 0.4.7-rc.1");
        check_text(&["0.3.0", ""], "versions: passed: east 0.3.0, west of upstream");
        check_text(&[], "versions: skipped: there are no members yet");
    }

    #[test]
    fn others_may_not() {
        check_text(
            &["0.3.0", "0.5.0"],
            "versions: FAILED: cluster west has version 0.5.0, more than one minor version from 0.3.1",
        );
        check_text(
            &["1.3.0"],
            "versions: FAILED: cluster east has version 1.3.0, more than one minor version from 0.3.1",
        );
        check_text(
            &["latest"],
            "versions: FAILED: cluster east says that its version is \"latest\", which is none",
        );
    }
}

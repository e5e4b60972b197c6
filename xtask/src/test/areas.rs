//! The lab tests by area: each area is a process with labs of its own, so that areas can run side by side.

/// The areas, by what the names of their tests begin with. The last one has all other tests. Those that take longest
/// stand first.
pub(crate) const AREAS: [(&str, &str); 4] = [
    ("lab multicluster", "multicluster::"),
    ("lab policies", "policies::"),
    ("lab services", "services::"),
    ("lab cluster", ""),
];

/// Sorts tests into areas: each test is in exactly one.
pub(crate) fn of(tests: &[String]) -> Vec<(&'static str, Vec<String>)> {
    let area = |test: &str| AREAS.iter().position(|(_, prefix)| test.starts_with(prefix));
    let members = |number| tests.iter().filter(move |test| area(test) == Some(number)).cloned().collect();
    AREAS.iter().enumerate().map(|(number, (name, _))| (*name, members(number))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_is_in_one_area() {
        let tests = ["multicluster::policies::a", "policies::b", "pool::c", "services::d"].map(str::to_owned);
        let areas: Vec<String> =
            of(&tests).iter().map(|(name, tests)| format!("{name}: {}", tests.join(" "))).collect();
        assert_eq!(
            areas,
            [
                "lab multicluster: multicluster::policies::a",
                "lab policies: policies::b",
                "lab services: services::d",
                "lab cluster: pool::c"
            ]
        );
    }
}

//! The lab tests by area: each area is a process with labs of its own, so that areas can run side by side.

/// The areas, by what the names of their tests begin with; one has all other tests. They begin in this order, those first
/// that take longest, so that the lanes end at about the same time.
pub(crate) const AREAS: [(&str, &str); 5] = [
    (MULTICLUSTER, "multicluster::"),
    ("lab cluster", OTHERS),
    ("lab policies", "policies::"),
    ("lab services", "services::"),
    ("lab pages", "pages::"),
];

pub(crate) const MULTICLUSTER: &str = "lab multicluster";

const OTHERS: &str = "";

/// Sorts tests into areas: each test is in exactly one.
pub(crate) fn of(tests: &[String]) -> Vec<(&'static str, Vec<String>)> {
    let members = |prefix| tests.iter().filter(move |test| prefix_of(test) == prefix).cloned().collect();
    AREAS.iter().map(|(name, prefix)| (*name, members(*prefix))).collect()
}

fn prefix_of(test: &str) -> &'static str {
    let mut prefixes = AREAS.iter().map(|(_, prefix)| *prefix).filter(|prefix| *prefix != OTHERS);
    prefixes.find(|prefix| test.starts_with(prefix)).unwrap_or(OTHERS)
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
                "lab cluster: pool::c",
                "lab policies: policies::b",
                "lab services: services::d",
                "lab pages: "
            ]
        );
    }
}

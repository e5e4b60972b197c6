//! The six Tiers that every cluster has, and what brings them about.

pub(crate) mod keeper;

use std::collections::BTreeMap;

use antrea_shared_api::crd::v1beta1::TierSpec;

/// Name, priority and description of each default Tier. Policies that name no tier are in `application`.
const DEFAULTS: [(&str, i32, &str); 6] = [
    ("emergency", 50, "[READ-ONLY]: System generated Emergency Tier"),
    ("securityops", 100, "[READ-ONLY]: System generated SecurityOps Tier"),
    ("networkops", 150, "[READ-ONLY]: System generated NetworkOps Tier"),
    ("platform", 200, "[READ-ONLY]: System generated Platform Tier"),
    ("application", 250, "[READ-ONLY]: System generated default Application Tier"),
    ("baseline", 253, "[READ-ONLY]: System generated Baseline Tier"),
];

/// The Tiers of the cluster, by name.
pub(crate) type Tiers = BTreeMap<String, TierSpec>;

/// One request that brings the default Tiers about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// The Tier is missing.
    Create(&'static str, TierSpec),
    /// The Tier says something else than it has to.
    Repair(&'static str, TierSpec),
}

/// What is missing in `existing`, or wrong. Tiers of users are left alone.
pub(crate) fn plan(existing: &Tiers) -> Vec<Action> {
    let missing_or_wrong = |(name, priority, description): (&'static str, i32, &str)| {
        let wanted = TierSpec { priority, description: description.to_owned() };
        match existing.get(name) {
            None => Some(Action::Create(name, wanted)),
            Some(spec) if *spec != wanted => Some(Action::Repair(name, wanted)),
            Some(_) => None,
        }
    };
    DEFAULTS.into_iter().filter_map(missing_or_wrong).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defaults() -> Tiers {
        plan(&Tiers::new())
            .into_iter()
            .map(|action| match action {
                Action::Create(name, spec) | Action::Repair(name, spec) => (name.to_owned(), spec),
            })
            .collect()
    }

    /// The plan as an operator would see it.
    fn check(existing: &Tiers) -> Vec<String> {
        let line = |action| match action {
            Action::Create(name, spec) => format!("create {name} {}", spec.priority),
            Action::Repair(name, spec) => format!("repair {name} {} {}", spec.priority, spec.description),
        };
        plan(existing).into_iter().map(line).collect()
    }

    #[test]
    fn a_new_cluster_gets_all_six() {
        assert_eq!(
            check(&Tiers::new()),
            [
                "create emergency 50",
                "create securityops 100",
                "create networkops 150",
                "create platform 200",
                "create application 250",
                "create baseline 253",
            ]
        );
    }

    #[test]
    fn nothing_is_done_where_all_is_well() {
        let mut tiers = defaults();
        tiers.insert("mine".into(), TierSpec { priority: 60, description: String::new() });
        assert!(check(&tiers).is_empty());
    }

    #[test]
    fn a_tier_that_was_deleted_comes_back() {
        let mut tiers = defaults();
        tiers.remove("platform");
        assert_eq!(check(&tiers), ["create platform 200"]);
    }

    #[test]
    fn a_tier_that_was_edited_is_repaired() {
        let mut tiers = defaults();
        tiers.insert("emergency".into(), TierSpec { priority: 251, description: "mine".into() });
        assert_eq!(check(&tiers), ["repair emergency 50 [READ-ONLY]: System generated Emergency Tier"]);
    }
}

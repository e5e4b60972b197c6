//! What has to be set and what has to go, for things that a key identifies.

use std::collections::BTreeSet;

use crate::{Neighbour, Route};

/// What brings the current state to the desired one. Both lists are sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes<T> {
    /// Missing or different: to be set, replacing what has the same key.
    pub set: Vec<T>,
    /// No longer wanted, and not replaced by anything in `set`.
    pub delete: Vec<T>,
}

impl<T> Changes<T> {
    /// Whether nothing has to be done.
    pub const fn is_empty(&self) -> bool {
        self.set.is_empty() && self.delete.is_empty()
    }
}

/// Compares routes. `current` holds only routes that may be deleted. What is set begins with direct routes, because
/// gateways are found through them.
pub fn route_changes(desired: &[Route], current: &[Route]) -> Changes<Route> {
    changes(desired, current, Route::key)
}

/// Compares neighbours. `current` holds only neighbours that may be deleted.
pub fn neighbour_changes(desired: &[Neighbour], current: &[Neighbour]) -> Changes<Neighbour> {
    changes(desired, current, |neighbour| (neighbour.device.clone(), neighbour.ip))
}

fn changes<T: Ord + Clone, K: Ord>(desired: &[T], current: &[T], key: impl Fn(&T) -> K) -> Changes<T> {
    let desired: BTreeSet<&T> = desired.iter().collect();
    let current: BTreeSet<&T> = current.iter().collect();
    let kept: BTreeSet<K> = desired.iter().map(|wanted| key(wanted)).collect();
    Changes {
        set: desired.difference(&current).map(|wanted| (*wanted).clone()).collect(),
        delete: current
            .iter()
            .filter(|there| !kept.contains(&key(there)))
            .map(|there| (*there).clone())
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(desired: &[&str], current: &[&str], expected: &[&str]) {
        let read = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<Route>>();
        let changes = route_changes(&read(desired), &read(current));
        let set = changes.set.iter().map(|route| format!("+ {route}"));
        let delete = changes.delete.iter().map(|route| format!("- {route}"));
        assert_eq!(set.chain(delete).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn nothing_differs() {
        check(&["10.0.1.0/24 dev gw scope link"], &["10.0.1.0/24 dev gw scope link"], &[]);
    }

    #[test]
    fn a_changed_route_is_replaced_and_not_deleted() {
        check(
            &["10.0.1.0/24 via 10.0.1.1 dev gw onlink"],
            &["10.0.1.0/24 dev gw scope link"],
            &["+ 10.0.1.0/24 via 10.0.1.1 dev gw onlink"],
        );
    }

    #[test]
    fn direct_routes_come_before_those_through_gateways() {
        check(
            &["10.0.1.0/24 via 172.18.0.1 dev gw", "172.18.0.1 dev gw scope link"],
            &["10.0.9.0/24 dev gw scope link"],
            &[
                "+ 172.18.0.1 dev gw scope link",
                "+ 10.0.1.0/24 via 172.18.0.1 dev gw",
                "- 10.0.9.0/24 dev gw scope link",
            ],
        );
    }
}

//! For how long a Gateway that works waits for one that replaces it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::kind::Kind;
use crate::objects::Objects;

/// A new Gateway says after two rounds of questions, of 2 s each, whom it reaches. Whoever wants another one does not wait
/// longer for one that does not come up.
const PATIENCE: Duration = Duration::from_secs(10);

/// Since when each Gateway is there, by the controller's own clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handovers(BTreeMap<String, Age>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Age {
    /// Others may wait for it until then.
    Until(Duration),
    /// Nobody does any more.
    Overdue,
}

impl Handovers {
    /// Takes in the Gateways at `now`, a time that only grows. Whether others wait no longer for one that they have waited
    /// for.
    pub fn observe(&mut self, objects: &Objects, now: Duration) -> bool {
        let mut changed = false;
        let mut known = std::mem::take(&mut self.0);
        for (key, _) in objects.all(Kind::Gateway) {
            let before = known.remove(&key.name).unwrap_or(Age::Until(now + PATIENCE));
            let age = match before {
                Age::Until(end) if end > now => before,
                _ => Age::Overdue,
            };
            changed |= age != before;
            self.0.insert(key.name.clone(), age);
        }
        changed
    }

    /// Whether nobody waits for this one any more.
    pub fn is_overdue(&self, name: &str) -> bool {
        self.0.get(name) == Some(&Age::Overdue)
    }

    /// When the next one will be overdue.
    pub fn next(&self, now: Duration) -> Option<Duration> {
        let ends = self.0.values().filter_map(|age| match age {
            Age::Until(end) => Some(*end),
            Age::Overdue => None,
        });
        ends.filter(|end| *end > now).min()
    }
}

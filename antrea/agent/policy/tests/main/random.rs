//! Whoever follows the changes ends where whoever learns everything at once begins.

use std::collections::BTreeMap;

use antrea_agent_policy::RuleId;

use crate::script::Script;

/// Events that are the same in every run (Knuth's linear congruential generator), and what is there after them.
struct Cluster {
    seed: u64,
    /// The ADDED line of each object, by kind and name.
    objects: BTreeMap<String, String>,
}

impl Cluster {
    fn below(&mut self, end: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % end
    }

    /// One of `a` to `d`.
    fn name(&mut self) -> char {
        char::from(b"abcd"[usize::try_from(self.below(4)).unwrap()])
    }

    fn content(&mut self, kind: &str) -> String {
        let [first, second, third] = [self.name(), self.name(), self.name()];
        let number = self.below(3);
        match (kind, self.below(2)) {
            ("np", 0) => format!("to={first} | In {second},{third} Allow"),
            ("np", _) => format!("to={first},{second} | In {third} Allow | Out - -"),
            (_, 0) => format!("n/{first}=10.0.0.{number}"),
            _ => format!("n/{first}=10.0.0.{number} n/{second}=10.0.1.{number}"),
        }
    }

    /// The next lines.
    fn event(&mut self) -> String {
        let kind = ["np", "ag", "atg"][usize::try_from(self.below(3)).unwrap()];
        let object = format!("{kind}/{}", self.name());
        let name = object.rsplit('/').next().unwrap();
        match self.below(8) {
            0 => self.all(kind),
            1 | 2 if self.objects.remove(&object).is_some() => format!("{kind} DELETED {name}"),
            _ => {
                let line = format!("{kind} ADDED {name} {}", self.content(kind));
                self.objects.insert(object.clone(), line.clone());
                line
            }
        }
    }

    /// A watch that begins anew, and has lost an object meanwhile.
    fn all(&mut self, kind: &str) -> String {
        let lost = format!("{kind}/{}", self.name());
        self.objects.remove(&lost);
        let lines = self.objects.values().filter(|line| line.starts_with(&format!("{kind} ")));
        let lines: String = lines.map(|line| format!("{line}\n")).collect();
        format!("{kind} CONNECTED\n{lines}{kind} BOOKMARK")
    }
}

/// Takes what has changed, and keeps what rules are.
fn follow(script: &mut Script, realized: &mut BTreeMap<RuleId, String>) {
    for id in script.cache.take_changed() {
        match script.state(&id) {
            Some(state) => realized.insert(id, state),
            None => realized.remove(&id),
        };
    }
}

#[test]
fn changes_lead_to_the_same_as_a_new_beginning() {
    let mut rules = 0;
    for seed in 0..200 {
        let mut cluster = Cluster { seed, objects: BTreeMap::new() };
        let (mut script, mut realized) =
            (Script::told("np BOOKMARK\nag BOOKMARK\natg BOOKMARK"), BTreeMap::new());
        for _ in 0..40 {
            script.tell(&cluster.event());
            follow(&mut script, &mut realized);
        }
        let (mut fresh, mut expected) = (Script::default(), BTreeMap::new());
        for kind in ["np", "ag", "atg"] {
            let lines: Vec<_> =
                cluster.objects.values().filter(|line| line.starts_with(&format!("{kind} "))).collect();
            lines.into_iter().for_each(|line| fresh.tell(line));
            fresh.tell(&format!("{kind} BOOKMARK"));
        }
        follow(&mut fresh, &mut expected);
        assert_eq!(realized, expected, "seed {seed}");
        assert_eq!(script.cache.files(), fresh.cache.files(), "seed {seed}");
        rules += realized.len();
    }
    assert!(rules > 500, "only {rules} rules were realized in all");
}

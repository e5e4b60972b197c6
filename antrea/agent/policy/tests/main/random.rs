//! Whoever follows the changes ends where whoever learns everything at once begins.

use std::collections::BTreeMap;

use antrea_agent_policy::RuleId;

use crate::node::Node;
use crate::script::Script;

/// Events that are the same in every run (Knuth's linear congruential generator), and what is there after them.
pub(crate) struct Cluster {
    seed: u64,
    kinds: &'static [&'static str],
    /// The ADDED line of each object, by kind and name.
    objects: BTreeMap<String, String>,
}

impl Cluster {
    pub(crate) const fn new(seed: u64, kinds: &'static [&'static str]) -> Self {
        Self { seed, kinds, objects: BTreeMap::new() }
    }

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
        let (number, on) = (self.below(3), self.below(4));
        let on =
            ["", "on=TCP:80", "on=TCP:http,UDP:80", "on=TCP:80-90,ICMP block=10.0.0.0/15-10.0.1.0/24,::/0"]
                [usize::try_from(on).unwrap()];
        match (kind, self.below(3)) {
            ("np", 0) => format!("to={first} | In {second},{third} Allow {on}"),
            ("np", 1) => format!("to={first},{second} | In {third} Allow {on} | Out - -"),
            ("np", _) => format!("to={first},{second} | Out {third} Allow {on} | In - -"),
            ("pod", _) => format!("{number} 10.0.0.{number}"),
            (_, 0) => format!("n/{first}=10.0.0.{number}#http:TCP:8{number}"),
            _ => format!("n/{first}=10.0.0.{number}#http:TCP:80 n/{second}=10.0.1.{number}"),
        }
    }

    /// The next lines.
    pub(crate) fn event(&mut self) -> String {
        let kind = self.below(u64::try_from(self.kinds.len()).unwrap());
        let kind = self.kinds[usize::try_from(kind).unwrap()];
        let object = format!("{kind}/{}", self.name());
        let name = object.rsplit('/').next().unwrap();
        match self.below(8) {
            _ if kind == "pod" => self.pod(&object, name),
            0 => self.all(kind),
            1 | 2 if self.objects.remove(&object).is_some() => format!("{kind} DELETED {name}"),
            _ => {
                let line = format!("{kind} ADDED {name} {}", self.content(kind));
                self.objects.insert(object.clone(), line.clone());
                line
            }
        }
    }

    /// Groups for all that policies may be applied to: no policy is sent without.
    pub(crate) fn targets(&mut self) -> String {
        let mut lines = String::new();
        for name in ['a', 'b', 'c', 'd'] {
            let content = self.content("atg");
            let line = || format!("atg ADDED {name} {content}");
            if !self.objects.contains_key(&format!("atg/{name}")) {
                lines.push_str(&format!(
                    "{}\n",
                    self.objects.entry(format!("atg/{name}")).or_insert_with(line)
                ));
            }
        }
        lines
    }

    fn pod(&mut self, object: &str, name: &str) -> String {
        if self.objects.remove(object).is_some() {
            return format!("pod n/{name}");
        }
        let line = format!("pod n/{name} {}", self.content("pod"));
        self.objects.insert(object.to_owned(), line.clone());
        line
    }

    /// What is there of a kind.
    fn lines(&self, kind: &str) -> String {
        let lines = self.objects.values().filter(|line| line.starts_with(&format!("{kind} ")));
        lines.map(|line| format!("{line}\n")).collect()
    }

    /// A watch that begins anew, and has lost an object meanwhile.
    fn all(&mut self, kind: &str) -> String {
        let lost = format!("{kind}/{}", self.name());
        self.objects.remove(&lost);
        format!("{kind} CONNECTED\n{}{kind} BOOKMARK", self.lines(kind))
    }
}

pub(crate) const WATCHED: [&str; 3] = ["np", "ag", "atg"];

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
        let mut cluster = Cluster::new(seed, &WATCHED);
        let (mut script, mut realized) =
            (Script::told("np BOOKMARK\nag BOOKMARK\natg BOOKMARK"), BTreeMap::new());
        for _ in 0..40 {
            script.tell(&cluster.event());
            follow(&mut script, &mut realized);
        }
        script.tell(&cluster.targets());
        follow(&mut script, &mut realized);
        let (mut fresh, mut expected) = (Script::default(), BTreeMap::new());
        for kind in WATCHED {
            fresh.tell(&format!("{}{kind} BOOKMARK", cluster.lines(kind)));
        }
        follow(&mut fresh, &mut expected);
        assert_eq!(realized, expected, "seed {seed}");
        assert_eq!(script.cache.files(), fresh.cache.files(), "seed {seed}");
        rules += realized.len();
    }
    assert!(rules > 500, "only {rules} rules were realized in all");
}

#[test]
fn all_changes_of_the_switch_lead_to_the_same_as_a_new_beginning() {
    let (mut rules, mut changes) = (0, 0);
    for seed in 0..200 {
        let mut cluster = Cluster::new(seed, &["np", "ag", "atg", "pod", "pod"]);
        let mut node = Node::told("");
        for _ in 0..60 {
            node.tell(&cluster.event());
            node.tell("wait 1");
            changes += node.reconcile().len();
        }
        node.tell(&cluster.targets());
        node.reconcile();
        let fresh = Node::told(&["pod", "np", "ag", "atg"].map(|kind| cluster.lines(kind)).concat());
        let [have, want] = [&node, &fresh].map(|node| {
            let mut rules: Vec<_> = node.switch.values().cloned().collect();
            rules.sort();
            rules
        });
        assert_eq!(have, want, "seed {seed}");
        for id in node.switch.keys() {
            assert!(!node.reconciler.rules_of(*id).is_empty(), "seed {seed}: number {id} is nobody's");
        }
        rules += have.len();
    }
    assert!(rules > 200 && changes > 5 * rules, "only {rules} rules after {changes} changes");
}

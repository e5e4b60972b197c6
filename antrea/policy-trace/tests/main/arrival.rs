//! Ways from one random cluster to the next.

use antrea_policy_reference::{Cluster, Event, Options, events, generate, mixed};

/// What happens.
#[derive(Clone)]
pub(crate) enum Step {
    Event(Box<Event>),
    /// What changed is told, and both Nodes change their flows.
    Settle,
    /// The controller begins anew, and the agents' watches with it.
    NewController,
    /// So does all the rest, and finds the switches as they are.
    Restart,
}

/// One in so many events is followed by a settle.
const SETTLES: u64 = 6;

/// Steps from a cluster to that of a seed, by turns: a restart with it; each object changed to what it is there, in
/// random order; a new controller that sees it come about.
pub(crate) fn arrival(before: &Cluster, seed: u64, options: &Options) -> Vec<Step> {
    match seed % 3 {
        0 => {
            let mut steps: Vec<Step> = changes(before, &generate(seed, options)).map(event).collect();
            steps.push(Step::Restart);
            steps
        }
        1 => with_settles(seed, in_random_order(before, seed, options).into_iter()),
        _ => {
            let mut steps: Vec<Step> = changes(before, &Cluster::default()).map(event).collect();
            steps.push(Step::NewController);
            steps.extend(with_settles(seed, events(seed, options).into_iter()));
            steps
        }
    }
}

/// What makes a cluster that of a seed, each object once.
pub(crate) fn in_random_order(before: &Cluster, seed: u64, options: &Options) -> Vec<Event> {
    let mut events: Vec<_> = changes(before, &generate(seed, options)).zip(0..).collect();
    events.sort_by_key(|(_, place)| mixed(seed, *place));
    events.into_iter().map(|(event, _)| event).collect()
}

/// Each object once, and everything begins with them.
pub(crate) fn at_once(cluster: &Cluster) -> Vec<Step> {
    let mut steps: Vec<Step> = changes(&Cluster::default(), cluster).map(event).collect();
    steps.push(Step::Restart);
    steps
}

fn changes(before: &Cluster, after: &Cluster) -> impl Iterator<Item = Event> {
    let (old, new) = (before.objects(), after.objects());
    let is_in_new = |name: &str| new.iter().any(|object| object.name() == name);
    let gone: Vec<_> = old.iter().filter(|object| !is_in_new(&object.name())).cloned().collect();
    let changed = new.into_iter().filter(move |object| !old.contains(object));
    gone.into_iter().map(Event::Delete).chain(changed.map(Event::Apply))
}

fn event(event: Event) -> Step {
    Step::Event(Box::new(event))
}

/// With a settle now and then, and one at the end.
fn with_settles(seed: u64, events: impl Iterator<Item = Event>) -> Vec<Step> {
    let mut steps = Vec::new();
    for (one, place) in events.zip(1_000..) {
        steps.push(event(one));
        if mixed(seed, place).is_multiple_of(SETTLES) {
            steps.push(Step::Settle);
        }
    }
    steps.push(Step::Settle);
    steps
}

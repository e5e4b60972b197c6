//! A random way in which a random cluster comes about: what watches would tell, for tests of incremental computing.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::networking::v1::NetworkPolicy;

use crate::generate::{Generator, Options};
use crate::object::Object;

/// What a watch says of one object.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The object is new, or is like this now.
    Apply(Object),
    /// The object, as it was last, is gone.
    Delete(Object),
}

/// Events of one object, or of several that must be in order.
type History = Vec<Event>;

/// Events after which there is the cluster that `generate` makes of the same seed. On the way objects come in any
/// order (Pods before their Namespace), change labels and rules, come twice, get their addresses late, and go; others
/// come and go; a Pod's addresses are those of another one before, which is gone or has ended. At no time do two
/// running Pods have the same address.
pub fn events(seed: u64, options: &Options) -> Vec<Event> {
    let mut generator = Generator::new(seed, options);
    let cluster = generator.cluster();
    let mut histories: Vec<History> = Vec::new();
    for (index, object) in cluster.objects().into_iter().enumerate() {
        let mut history = before(&mut generator, index, &object);
        history.push(Event::Apply(object.clone()));
        if generator.random.chance(15) {
            history.push(Event::Apply(object));
        }
        histories.push(history);
    }
    for index in 0..options.policies / 2 {
        histories.push(passing_policy(&mut generator, options.policies + index));
    }
    for index in 0..options.pods / 2 {
        histories.push(passing_pod(&mut generator, options.pods + index));
    }
    interleave(&mut generator, histories)
}

/// What came before the object was what it is.
fn before(generator: &mut Generator, index: usize, object: &Object) -> History {
    match object {
        Object::Namespace(namespace) if generator.random.chance(50) => {
            let mut earlier = generator.namespace(index);
            earlier.metadata.name.clone_from(&namespace.metadata.name);
            vec![Event::Apply(Object::Namespace(earlier))]
        }
        Object::Pod(pod) => before_pod(generator, index, pod),
        Object::NetworkPolicy(policy) => before_policy(generator, index, policy),
        Object::Namespace(_) | Object::Node(_) => Vec::new(),
    }
}

fn before_pod(generator: &mut Generator, index: usize, pod: &Pod) -> History {
    match generator.random.below(6) {
        0 => vec![Event::Apply(Object::Pod(starting(pod)))],
        1 => vec![
            Event::Apply(Object::Pod(starting(pod))),
            Event::Apply(Object::Pod(relabelled(generator, pod))),
        ],
        2 => vec![Event::Apply(Object::Pod(relabelled(generator, pod)))],
        3 => {
            let mut earlier = relabelled(generator, pod);
            earlier.metadata.uid = Some(earlier_uid(1, index));
            vec![Event::Apply(Object::Pod(earlier.clone())), Event::Delete(Object::Pod(earlier))]
        }
        4 => had_addresses_before(generator, index, pod),
        _ => Vec::new(),
    }
}

/// The Pod before it is on a Node.
fn starting(pod: &Pod) -> Pod {
    let mut pod = pod.clone();
    if let Some(spec) = &mut pod.spec {
        spec.node_name = None;
    }
    if let Some(status) = &mut pod.status {
        status.phase = Some("Pending".to_owned());
        (status.pod_ip, status.pod_ips) = (None, None);
    }
    pod
}

/// The Pod with labels of another one.
fn relabelled(generator: &mut Generator, pod: &Pod) -> Pod {
    let labels = generator.pod(0).metadata.labels;
    let mut pod = pod.clone();
    pod.metadata.labels = labels;
    pod
}

/// Another Pod with the same addresses, which is gone, or has ended and is still listed for some time.
fn had_addresses_before(generator: &mut Generator, index: usize, pod: &Pod) -> History {
    let mut other = relabelled(generator, pod);
    other.metadata.name = Some(format!("before{index}"));
    other.metadata.uid = Some(earlier_uid(3, index));
    let mut ended = other.clone();
    if let Some(status) = &mut ended.status {
        status.phase = Some("Succeeded".to_owned());
    }
    let (running, ended) = (Object::Pod(other), Object::Pod(ended));
    if generator.random.chance(50) {
        return vec![Event::Apply(running.clone()), Event::Delete(running)];
    }
    vec![
        Event::Apply(running),
        Event::Apply(ended.clone()),
        Event::Apply(Object::Pod(pod.clone())),
        Event::Delete(ended),
    ]
}

fn before_policy(generator: &mut Generator, index: usize, policy: &NetworkPolicy) -> History {
    let mut earlier = policy.clone();
    earlier.spec = generator.policy(0).spec;
    match generator.random.below(4) {
        0 => vec![Event::Apply(Object::NetworkPolicy(earlier))],
        1 => {
            earlier.metadata.uid = Some(earlier_uid(2, index));
            let earlier = Object::NetworkPolicy(earlier);
            vec![Event::Apply(earlier.clone()), Event::Delete(earlier)]
        }
        _ => Vec::new(),
    }
}

fn passing_policy(generator: &mut Generator, index: usize) -> History {
    let first = generator.policy(index);
    let last = Object::NetworkPolicy(generator.policy(index));
    vec![Event::Apply(Object::NetworkPolicy(first)), Event::Apply(last.clone()), Event::Delete(last)]
}

fn passing_pod(generator: &mut Generator, index: usize) -> History {
    let first = generator.pod(index);
    let last = Object::Pod(relabelled(generator, &first));
    vec![Event::Apply(Object::Pod(first)), Event::Apply(last.clone()), Event::Delete(last)]
}

/// The UID of an object that had the name before.
fn earlier_uid(kind: u32, index: usize) -> String {
    format!("{kind:08x}-0000-4000-9000-{index:012x}")
}

/// One sequence of all, in which each history keeps its order.
fn interleave(generator: &mut Generator, histories: Vec<History>) -> Vec<Event> {
    let mut left: Vec<_> = histories.into_iter().map(History::into_iter).collect();
    let mut events = Vec::new();
    while !left.is_empty() {
        let index = generator.random.below(left.len());
        match left[index].next() {
            Some(event) => events.push(event),
            None => drop(left.swap_remove(index)),
        }
    }
    events
}

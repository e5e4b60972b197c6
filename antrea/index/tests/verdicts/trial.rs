//! A random cluster comes about event by event, and both are asked about it again and again.

use std::fmt;

use antrea_index::Index;
use antrea_policy_reference::{
    Cluster, Coverage, Event, OUTSIDE, Object, Options, PORTS, Question, events, mixed, questions,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::answers::{Answer, answers};
use super::faults::Fault;
use super::told::Told;

/// One in so many questions is asked of a cluster at its end.
const AT_THE_END: usize = 2;

/// One in so many seeds is asked after every settle,
const SEEDS_BETWEEN: u64 = 4;

/// one in so many questions.
const BETWEEN: usize = 16;

/// One in so many events is followed by a settle.
const SETTLES: u64 = 4;

/// What happens in an index.
#[derive(Clone)]
pub(crate) enum Step {
    Event(Box<Event>),
    Settle,
}

/// An index, the cluster that it knows, and somebody who believes only its updates.
pub(crate) struct Trial {
    pub(crate) cluster: Cluster,
    told: Told,
    index: Index,
    fault: Fault,
}

/// What was asked.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) coverage: Coverage,
    states: usize,
}

/// A disagreement, and the steps to the state in which it is seen, but for the last settle.
pub(crate) struct Disagreement {
    pub(crate) answer: Answer,
    pub(crate) steps: Vec<Step>,
    pub(crate) fault: Fault,
}

/// The first disagreement about the cluster of a seed.
pub(crate) fn disagreement(
    seed: u64,
    options: &Options,
    fault: Fault,
    tally: &mut Tally,
) -> Option<Disagreement> {
    let steps = steps(seed, options);
    let mut trial = Trial::new(fault);
    for (at, step) in steps.iter().enumerate() {
        trial.step(step);
        let every = match step {
            _ if at + 1 == steps.len() => AT_THE_END,
            Step::Settle if seed.is_multiple_of(SEEDS_BETWEEN) => BETWEEN,
            Step::Settle | Step::Event(_) => continue,
        };
        tally.states += 1;
        for answer in trial.answers(at, every) {
            tally.coverage.count_verdict(&answer.reference);
            if !answer.agrees() {
                return Some(Disagreement { answer, steps: steps[..at].to_vec(), fault });
            }
        }
    }
    tally.coverage.count_policies(&trial.cluster);
    None
}

/// The events of a seed with settles between them, and one at the end.
fn steps(seed: u64, options: &Options) -> Vec<Step> {
    let mut steps = Vec::new();
    for (event, place) in events(seed, options).into_iter().zip(1..) {
        steps.push(Step::Event(Box::new(event)));
        if mixed(seed, place).is_multiple_of(SETTLES) {
            steps.push(Step::Settle);
        }
    }
    steps.push(Step::Settle);
    steps
}

impl Trial {
    fn new(fault: Fault) -> Self {
        Self { cluster: Cluster::default(), told: Told::default(), index: Index::default(), fault }
    }

    /// After some steps and a settle.
    pub(crate) fn after(steps: &[Step], fault: Fault) -> Self {
        let mut trial = Self::new(fault);
        steps.iter().for_each(|step| trial.step(step));
        trial.settle();
        trial
    }

    /// The answers to one in so many of all questions, not the same ones in each state.
    fn answers(&self, at: usize, every: usize) -> Vec<Answer> {
        let all = questions(&self.cluster, &OUTSIDE, &PORTS);
        let some: Vec<Question> = all.into_iter().skip(at % every).step_by(every).collect();
        answers(&self.cluster, &self.told, &some)
    }

    /// The answers to a question, if they are not the same.
    pub(crate) fn disagreement(&self, question: &Question) -> Option<Answer> {
        let answers = answers(&self.cluster, &self.told, std::slice::from_ref(question));
        answers.into_iter().find(|answer| !answer.agrees())
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Event(event) => self.happen(event),
            Step::Settle => self.settle(),
        }
    }

    fn happen(&mut self, event: &Event) {
        self.cluster.happen(event);
        let index = &mut self.index;
        match event {
            Event::Apply(Object::Namespace(object)) => index.apply_namespace(object),
            Event::Apply(Object::Pod(object)) => drop(index.apply_pod(object)),
            Event::Apply(Object::NetworkPolicy(object)) => drop(index.apply_network_policy(object)),
            Event::Delete(Object::Namespace(object)) => index.delete_namespace(name(&object.metadata)),
            Event::Delete(Object::Pod(object)) => {
                index.delete_pod(namespace(&object.metadata), name(&object.metadata));
            }
            Event::Delete(Object::NetworkPolicy(object)) => {
                index.delete_network_policy(namespace(&object.metadata), name(&object.metadata));
            }
            // Kubernetes' policies know Nodes by the Pods on them only.
            Event::Apply(Object::Node(_)) | Event::Delete(Object::Node(_)) => {}
        }
    }

    fn settle(&mut self) {
        let Self { told, index, fault, .. } = self;
        index.settle(|update| fault(update).into_iter().for_each(|update| told.learn(update)));
    }
}

fn namespace(metadata: &ObjectMeta) -> &str {
    metadata.namespace.as_deref().unwrap()
}

fn name(metadata: &ObjectMeta) -> &str {
    metadata.name.as_deref().unwrap()
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { coverage, states } = self;
        writeln!(f, "{states} states; one question in {AT_THE_END} at the end, one in {BETWEEN} between")?;
        write!(f, "{coverage}")
    }
}

//! Random clusters one after another, all three ways of judging connections beside each other.

use std::net::IpAddr;

use antrea_apiserver::store::{Encoding, Kind};
use antrea_pipeline::policy::FlowChange;
use antrea_policy_reference::{Cluster, OUTSIDE, Options, PORTS, Question, mixed, questions};
use antrea_types::IpFamily;

use crate::agent::Agent;
use crate::answers::{Answer, answers, find_end};
use crate::arrival::{Step, arrival, at_once};
use crate::controller::Controller;
use crate::fault::Fault;
use crate::lab::Lab;
use crate::node::{Node, pod_address};
use crate::outcome::Outcome;
use crate::packets::{Connection, Packet};
use crate::tally::Tally;

/// So many questions are asked of each cluster,
const AT_THE_END: u64 = 60;

/// and so many after one in so many settles on the way.
const BETWEEN: u64 = 4;
const SETTLES: u64 = 4;

/// A controller, the agents of two Nodes, and their switches.
pub(crate) struct Trial<'a> {
    lab: &'a Lab,
    fault: Fault,
    controller: Controller,
    agents: [Agent; 2],
    /// How it came to be as it is, but for the last settle.
    steps: Vec<Step>,
    tally: Tally,
}

/// A packet, and what became of it.
pub(crate) struct Traced {
    pub(crate) packet: Packet,
    pub(crate) outcome: Outcome,
    pub(crate) trace: String,
}

/// What all three say to a question.
pub(crate) struct Finding {
    pub(crate) answer: Answer,
    pub(crate) traced: Vec<Traced>,
}

/// One that they do not agree on, and the steps to there.
pub(crate) struct Disagreement {
    pub(crate) seed: u64,
    pub(crate) finding: Finding,
    pub(crate) steps: Vec<Step>,
    pub(crate) fault: Fault,
}

impl Traced {
    pub(crate) fn agrees(&self) -> bool {
        self.outcome == self.packet.expected
    }
}

impl Finding {
    pub(crate) fn agrees(&self) -> bool {
        self.answer.agrees() && self.flows_agree()
    }

    /// Whether the flows do what the reference says.
    pub(crate) fn flows_agree(&self) -> bool {
        self.traced.iter().all(Traced::agrees)
    }
}

/// Agents, one for each encoding.
fn agents(lab: &Lab, fault: Fault) -> [Agent; 2] {
    let [one, two] = &lab.nodes;
    let agent = |node: &Node, encoding| Agent::new(&node.name(), encoding, &node.pipeline, fault);
    [agent(one, Encoding::Protobuf), agent(two, Encoding::Json)]
}

impl<'a> Trial<'a> {
    /// An empty cluster on switches that may have flows of earlier ones.
    pub(crate) fn new(lab: &'a Lab, fault: Fault) -> Self {
        let (controller, agents) = (Controller::new(fault), agents(lab, fault));
        let mut trial = Self { lab, fault, controller, agents, steps: Vec::new(), tally: Tally::default() };
        trial.restart();
        trial
    }

    /// After some steps and a settle.
    pub(crate) fn after(lab: &'a Lab, fault: Fault, steps: &[Step]) -> Self {
        let mut trial = Self::new(lab, fault);
        steps.iter().for_each(|step| trial.step(step));
        trial.settle();
        trial
    }

    pub(crate) const fn cluster(&self) -> &Cluster {
        &self.controller.cluster
    }

    /// Goes through the clusters of all seeds, up to the first disagreement of a kind.
    pub(crate) fn run(
        &mut self,
        seeds: impl IntoIterator<Item = u64>,
        options: &Options,
        is_wrong: fn(&Finding) -> bool,
    ) -> Option<Disagreement> {
        seeds.into_iter().find_map(|seed| self.disagreement(seed, options, is_wrong))
    }

    pub(crate) const fn tally(&self) -> &Tally {
        &self.tally
    }

    fn disagreement(
        &mut self,
        seed: u64,
        options: &Options,
        is_wrong: fn(&Finding) -> bool,
    ) -> Option<Disagreement> {
        let steps = arrival(self.cluster(), seed, options);
        let last = steps.len() - 1;
        for (place, step) in (0..).zip(&steps) {
            self.step(step);
            let asked = match step {
                _ if place == last => AT_THE_END,
                Step::Settle if mixed(seed, place as u64).is_multiple_of(SETTLES) => BETWEEN,
                _ => continue,
            };
            if let Some(finding) = self.ask_some(mixed(seed, place as u64), asked, is_wrong) {
                let steps = self.steps.clone();
                return Some(Disagreement { seed, finding, steps, fault: self.fault });
            }
        }
        self.tally.coverage.count_policies(&self.controller.cluster);
        None
    }

    /// Asks some of all questions, and returns the first that there is no agreement on.
    fn ask_some(&mut self, seed: u64, count: u64, is_wrong: fn(&Finding) -> bool) -> Option<Finding> {
        self.tally.states += 1;
        for answer in self.answers(&self.some_questions(seed, count)) {
            self.tally.coverage.count_verdict(&answer.reference);
            let finding = self.trace(answer);
            finding.traced.iter().for_each(|traced| self.tally.count_packet(&traced.packet));
            if is_wrong(&finding) {
                return Some(finding);
            }
        }
        None
    }

    pub(crate) fn some_questions(&self, seed: u64, count: u64) -> Vec<Question> {
        let all = questions(self.cluster(), &outside(), &PORTS);
        let length = all.len() as u64;
        let pick = |place| all.get(usize::try_from(mixed(seed, place) % length.max(1)).ok()?).cloned();
        (0..count).filter_map(pick).collect()
    }

    /// What the reference and the computed objects say.
    pub(crate) fn answers(&self, questions: &[Question]) -> Vec<Answer> {
        answers(self.cluster(), &self.controller.told, questions)
    }

    /// The answers to a question, if they are not the same.
    pub(crate) fn ask(&self, question: &Question) -> Option<Finding> {
        self.answers(std::slice::from_ref(question))
            .into_iter()
            .map(|answer| self.trace(answer))
            .find(|finding| !finding.agrees())
    }

    fn trace(&self, answer: Answer) -> Finding {
        let traced = self.packets(&answer).into_iter().map(|packet| self.traced(packet)).collect();
        Finding { answer, traced }
    }

    /// The packets of a connection, with what the reference says of them.
    pub(crate) fn packets(&self, answer: &Answer) -> Vec<Packet> {
        let (question, cluster) = (&answer.question, self.cluster());
        let connection = Connection {
            question,
            from: find_end(cluster, &question.from, question.family),
            to: find_end(cluster, &question.to, question.family),
            verdict: &answer.reference,
            nodes: &self.lab.nodes,
        };
        connection.packets()
    }

    pub(crate) fn traced(&self, packet: Packet) -> Traced {
        let trace = self.lab.trace(packet.node, &packet.text);
        let outcome = Outcome::of(&trace, &self.lab.nodes[packet.node].pipeline);
        Traced { packet, outcome, trace }
    }

    pub(crate) fn step(&mut self, step: &Step) {
        self.steps.push(step.clone());
        match step {
            Step::Event(event) => self.controller.happen(event),
            Step::Settle => self.settle(),
            Step::NewController => self.new_controller(),
            Step::Restart => {
                self.steps = at_once(self.cluster());
                self.restart();
            }
        }
    }

    fn settle(&mut self) {
        self.settle_slowly(|_| {});
    }

    /// Settles, and lets somebody look whenever a watch has been followed. Watches are independent of each other: each
    /// time another one is the first.
    pub(crate) fn settle_slowly(&mut self, mut look: impl FnMut(&Self)) {
        self.controller.settle();
        for place in 0..Kind::ALL.len() {
            let kind = Kind::ALL[(self.steps.len() + place) % Kind::ALL.len()];
            self.change(|agent, cluster| agent.follow(kind, cluster));
            look(self);
        }
    }

    fn change(&mut self, changes: impl Fn(&mut Agent, &Cluster) -> Vec<FlowChange>) {
        for (node, agent) in self.agents.iter_mut().enumerate() {
            let changes = changes(agent, &self.controller.cluster);
            self.tally.changes += usize::from(!changes.is_empty());
            self.tally.changed_flows += changes.len();
            self.lab.change(node, changes);
        }
    }

    fn new_controller(&mut self) {
        self.controller = self.controller.anew();
        self.agents.iter_mut().for_each(|agent| agent.connect(&mut self.controller.store));
        self.change(Agent::reconcile);
    }

    fn restart(&mut self) {
        self.controller = self.controller.anew();
        self.agents = agents(self.lab, self.fault);
        for (node, agent) in self.agents.iter_mut().enumerate() {
            agent.connect(&mut self.controller.store);
            self.lab.replace(node, agent.reconcile(&self.controller.cluster));
        }
    }
}

/// Addresses outside of the cluster. Those of gateways count, for the host masquerades what comes from outside.
fn outside() -> Vec<IpAddr> {
    let gateways = IpFamily::ALL.map(|family| pod_address(1, 1, family));
    OUTSIDE.into_iter().chain(gateways).collect()
}

//! Both answers to a question.

use std::collections::BTreeMap;
use std::fmt;

use antrea_policy_reference::{
    Choices, Cluster, Endpoint, Family, NamedPortInBlock, OwnNodeEgress, Protocol, Question, Side, Verdict,
    address, verdicts,
};

use super::computed::{Computed, End, Target};
use super::told::Told;

/// How this product reads what the API leaves open, as upstream does.
///
/// Upstream exempts traffic from a Node to its own Pods, by a flow for ingress alone; and its agent leaves ports out of
/// a rule's `ipBlock`s whose names no member of a group has resolved, so that a block never has names.
const CHOICES: Choices =
    Choices { own_node_egress: OwnNodeEgress::Judged, named_port_in_block: NamedPortInBlock::Unknown };

/// What the reference says, and what follows from the computed objects.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) question: Question,
    pub(crate) reference: Verdict,
    computed: Verdict,
}

/// The answers to those of some questions that can be asked of a cluster.
pub(crate) fn answers(cluster: &Cluster, told: &Told, questions: &[Question]) -> Vec<Answer> {
    let computed = Computed::new(told);
    let mut ends = BTreeMap::new();
    let both = questions.iter().zip(verdicts(&CHOICES, cluster, questions));
    let answers = both.filter_map(|(question, reference)| {
        let reference = reference.ok()?;
        let mut find = |end| {
            let key = (end, question.family);
            *ends.entry(key).or_insert_with(|| find_end(cluster, end, question.family))
        };
        let (from, to) = (find(&question.from), find(&question.to));
        let target = Target { protocol: protocol(question.protocol), port: question.port };
        let computed = computed.verdict(&from, &to, target);
        Some(Answer { question: question.clone(), reference, computed })
    });
    answers.collect()
}

pub(crate) fn find_end<'a>(cluster: &'a Cluster, end: &'a Endpoint, family: Family) -> End<'a> {
    let address = address(cluster, end, family).unwrap();
    match end {
        Endpoint::Outside(_) => End { pod: None, node: None, address },
        Endpoint::Node(name) => End { pod: None, node: Some(name), address },
        Endpoint::Pod { namespace, name } => {
            let key = (Some(namespace), Some(name));
            let mut pods = cluster.pods.iter();
            let pod = pods.find(|pod| (pod.metadata.namespace.as_ref(), pod.metadata.name.as_ref()) == key);
            let spec = pod.and_then(|pod| pod.spec.as_ref()).unwrap();
            let own_network = spec.host_network != Some(true);
            let pod = own_network.then_some((namespace.as_str(), name.as_str()));
            End { pod, node: spec.node_name.as_deref(), address }
        }
    }
}

fn protocol(protocol: Protocol) -> antrea_types::Protocol {
    match protocol {
        Protocol::Tcp => antrea_types::Protocol::Tcp,
        Protocol::Udp => antrea_types::Protocol::Udp,
        Protocol::Sctp => antrea_types::Protocol::Sctp,
    }
}

impl Answer {
    /// Whether both are the same, and of the same policies.
    pub(crate) fn agrees(&self) -> bool {
        agree(&self.reference.egress, &self.computed.egress)
            && agree(&self.reference.ingress, &self.computed.ingress)
    }
}

/// Of a rule's place nothing is said: rules that admit nobody are not computed.
fn agree(reference: &Side, computed: &Side) -> bool {
    match (reference, computed) {
        (Side::Admitted { policy, .. }, Side::Admitted { policy: other, .. }) => policy == other,
        (Side::Denied { policies }, Side::Denied { policies: others }) => policies == others,
        (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

/// Both sides of both: where one is denied already at egress, they may disagree on ingress.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.question)?;
        for (who, verdict) in [("reference", &self.reference), ("computed ", &self.computed)] {
            writeln!(f, "  {who}: egress: {}; ingress: {}", verdict.egress, verdict.ingress)?;
        }
        Ok(())
    }
}

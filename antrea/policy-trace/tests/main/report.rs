//! A disagreement as somebody wants to read it: nothing in it that it does not take.

use std::fmt::Write;

use antrea_policy_reference::{Cluster, Event, Object, shrink, shrink_list};

use crate::arrival::{Step, at_once};
use crate::lab::Lab;
use crate::trial::{Disagreement, Finding, Trial};

/// The question, all answers with their reasons, the cluster, as small as it can be, and what the switch did with the
/// packet; also how the cluster came about, if there is no disagreement on it as such.
pub(crate) fn report(lab: &Lab, found: &Disagreement) -> String {
    let question = &found.finding.answer.question;
    let ask = |steps: &[Step]| Trial::after(lab, found.fault, steps).ask(question);
    let whole = Trial::after(lab, found.fault, &found.steps).cluster().clone();
    let mut text = format!("seed {}: ", found.seed);
    let (steps, cluster) = if ask(&at_once(&whole)).is_some() {
        let small = shrink(&whole, |cluster| ask(&at_once(cluster)).is_some());
        (at_once(&small), small.to_string())
    } else {
        let small = shrink_list(&found.steps, |steps| ask(steps).is_some());
        let described = small.iter().map(described).collect();
        (small, described)
    };
    let again = ask(&steps);
    write_finding(&mut text, again.as_ref().unwrap_or(&found.finding), &cluster);
    text
}

fn write_finding(text: &mut String, finding: &Finding, cluster: &str) {
    writeln!(text, "{}", finding.answer).unwrap();
    for traced in &finding.traced {
        let (packet, is) = (&traced.packet, if traced.agrees() { "as expected" } else { "WRONG" });
        writeln!(text, "  n{} {}: {}", packet.node + 1, packet.path, packet.text).unwrap();
        writeln!(text, "    {}, expected: {} ({is})", traced.outcome, packet.expected).unwrap();
    }
    text.push_str(cluster);
    for traced in finding.traced.iter().filter(|traced| !traced.agrees()) {
        writeln!(text, "# {}\n{}", traced.packet.text, traced.trace).unwrap();
    }
}

fn described(step: &Step) -> String {
    match step {
        Step::Settle => "# settle\n".to_owned(),
        Step::NewController => "# new controller\n".to_owned(),
        Step::Restart => "# restart\n".to_owned(),
        Step::Event(event) => match event.as_ref() {
            Event::Delete(object) => format!("# delete {}\n", object.name()),
            Event::Apply(object) => format!("# apply\n{}", yaml(object)),
        },
    }
}

fn yaml(object: &Object) -> String {
    let mut cluster = Cluster::default();
    cluster.happen(&Event::Apply(object.clone()));
    cluster.to_string()
}

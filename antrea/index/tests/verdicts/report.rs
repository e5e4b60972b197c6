//! A disagreement as somebody wants to read it: nothing in it that it does not take.

use std::fmt::Write;

use antrea_policy_reference::{Cluster, Event, Object, shrink, shrink_list};

use super::trial::{Disagreement, Step, Trial};

/// The question, both answers with their reasons, and the cluster, as small as it can be; also how it came about, if
/// there is no disagreement on the cluster as such.
pub(crate) fn report(found: &Disagreement) -> String {
    let question = &found.answer.question;
    let disagrees = |steps: &[Step]| Trial::after(steps, found.fault).disagreement(question).is_some();
    let whole = Trial::after(&found.steps, found.fault).cluster;
    if disagrees(&at_once(&whole)) {
        let small = shrink(&whole, |cluster| disagrees(&at_once(cluster)));
        return format!("{}{small}", answer(found, &at_once(&small)));
    }
    let small = shrink_list(&found.steps, disagrees);
    small.iter().fold(answer(found, &small), |text, step| text + &described(step))
}

/// Each object once, and no settle before all are there.
fn at_once(cluster: &Cluster) -> Vec<Step> {
    cluster.objects().into_iter().map(|object| Step::Event(Box::new(Event::Apply(object)))).collect()
}

fn answer(found: &Disagreement, steps: &[Step]) -> String {
    let answer = Trial::after(steps, found.fault).disagreement(&found.answer.question);
    answer.as_ref().unwrap_or(&found.answer).to_string()
}

fn described(step: &Step) -> String {
    match step {
        Step::Settle => "# settle\n".to_owned(),
        Step::Event(event) => match event.as_ref() {
            Event::Delete(object) => format!("# delete {}\n", object.name()),
            Event::Apply(object) => format!("# apply\n{}", yaml(object)),
        },
    }
}

fn yaml(object: &Object) -> String {
    let mut cluster = Cluster::default();
    cluster.happen(&Event::Apply(object.clone()));
    let mut text = String::new();
    write!(text, "{cluster}").unwrap();
    text
}

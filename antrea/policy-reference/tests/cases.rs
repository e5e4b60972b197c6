//! Cases written by hand from the documentation of `networking.k8s.io/v1`: a policy or two, questions, answers.
//!
//! A file of `tests/cases` has blocks between empty lines. Each starts with the cluster of `cluster.yaml`; a line
//! `policy NAMESPACE: SPEC` adds a policy and `with: OBJECT` any object; `QUESTION: ANSWER` is a case.

use antrea_policy_reference::{
    Cluster, Direction, Endpoint, Event, Family, Object, Question, Verdict, address, verdict,
};
use serde_json::{Value, json};

/// Asks all questions of a text; returns how many there were.
fn check(text: &str) -> usize {
    let mut wrong = Vec::new();
    let mut asked = 0;
    for block in text.split("\n\n") {
        let (objects, cases): (Vec<&str>, Vec<&str>) = block
            .lines()
            .filter(|line| !line.starts_with('#'))
            .partition(|line| line.starts_with("policy ") || line.starts_with("with: "));
        let cluster = cluster_with(&objects);
        for case in cases {
            asked += 1;
            let (question, expected) = case.rsplit_once(": ").unwrap();
            let found = verdict(&cluster, &question.parse::<Question>().unwrap());
            let answer = found.as_ref().map_or("none", answer);
            if answer != expected {
                wrong.push(format!("{}\n{case}\nbut: {found:?}", objects.join("\n")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {asked} are wrong:\n\n{}", wrong.len(), wrong.join("\n\n"));
    asked
}

fn answer(verdict: &Verdict) -> &'static str {
    match verdict.denied_by() {
        None => "allowed",
        Some(Direction::Egress) => "denied at egress",
        Some(Direction::Ingress) => "denied at ingress",
    }
}

/// The cluster of the cases with more objects, a line each; policies get names in the order of their lines.
pub(crate) fn cluster_with(objects: &[&str]) -> Cluster {
    let mut cluster = Cluster::from_yaml(include_str!("cases/cluster.yaml")).unwrap();
    for (index, line) in objects.iter().enumerate() {
        let object = match line.strip_prefix("with: ") {
            Some(object) => object.to_owned(),
            None => policy(index, line.strip_prefix("policy ").unwrap()),
        };
        for object in Cluster::from_yaml(&object).unwrap().objects() {
            cluster.happen(&Event::Apply(object));
        }
    }
    cluster
}

fn policy(index: usize, line: &str) -> String {
    let (namespace, spec) = line.split_once(':').unwrap();
    let metadata = json!({ "namespace": namespace, "name": format!("np{index}") });
    let spec: Value = if spec.is_empty() { Value::Null } else { serde_saphyr::from_str(spec).unwrap() };
    json!({ "kind": "NetworkPolicy", "metadata": metadata, "spec": spec }).to_string()
}

#[test]
fn pods_are_isolated_by_the_policies_that_select_them_and_policies_add_up() {
    assert!(check(include_str!("cases/isolation.txt")) > 40);
}

#[test]
fn peers_are_pods_of_the_own_or_of_selected_namespaces() {
    assert!(check(include_str!("cases/peers.txt")) > 40);
}

#[test]
fn selectors_and_their_pairs_and_requirements() {
    assert!(check(include_str!("cases/selectors.txt")) > 40);
}

#[test]
fn ports_are_numbers_ranges_and_names_of_a_protocol() {
    assert!(check(include_str!("cases/ports.txt")) > 60);
}

#[test]
fn blocks_have_addresses_of_their_family() {
    assert!(check(include_str!("cases/blocks.txt")) > 40);
}

#[test]
fn nodes_reach_their_own_pods_and_some_pods_are_nodes_or_nobody() {
    assert!(check(include_str!("cases/nodes.txt")) > 40);
}

#[test]
fn what_the_api_forbids_admits_nobody() {
    assert!(check(include_str!("cases/bad.txt")) > 40);
}

#[test]
fn a_verdict_says_which_end_denies_and_why() {
    let cluster = cluster_with(&[
        "policy a: {podSelector: {}, policyTypes: [Ingress, Egress], egress: [{ports: [{port: 81}]}, {}]}",
        "policy a: {podSelector: {matchLabels: {app: db}}}",
        "policy b: {podSelector: {}, policyTypes: [Egress]}",
    ]);
    let says = |question: &str| verdict(&cluster, &question.parse().unwrap()).unwrap().to_string();
    assert_eq!(says("a/web -> a/db TCP 80"), "denied at ingress: no rule of a/np0, a/np1 admits it");
    assert_eq!(says("b/web -> a/db TCP 80"), "denied at egress: no rule of b/np2 admits it");
    assert_eq!(
        says("a/web -> c/job TCP 80"),
        "allowed (egress: rule 1 of a/np0; ingress: no policy selects the Pod)"
    );
    assert_eq!(
        says("node:n1 -> a/web TCP 80"),
        "allowed (egress: not a Pod; ingress: the Node reaches its own Pods)"
    );
    assert_eq!(
        says("a/web -> a/web TCP 80"),
        "allowed (egress: a Pod reaches itself; ingress: a Pod reaches itself)"
    );
}

#[test]
fn a_question_without_an_answer_says_why() {
    let cluster = cluster_with(&[]);
    let says = |question: &str| verdict(&cluster, &question.parse().unwrap()).unwrap_err().to_string();
    assert_eq!(says("a/none -> a/db TCP 80"), "a/none does not exist");
    assert_eq!(says("a/ended -> a/db TCP 80"), "a/ended has ended and has no connections any more");
    assert_eq!(says("a/starting -> a/db TCP 80"), "a/starting has no address of IPv4");
    assert_eq!(says("c/v4 -> a/db TCP 80 over IPv6"), "c/v4 has no address of IPv6");
    assert_eq!(says("10.10.1.2 -> a/db TCP 80"), "10.10.1.2 is an address of a/web, not one outside");
    assert_eq!(says("192.168.0.12 -> a/db TCP 80"), "192.168.0.12 is an address of n2, not one outside");
    assert_eq!(says("node:n1 -> a/host TCP 80"), "no end of the connection from node:n1 to a/host is a Pod");
}

#[test]
fn an_end_has_an_address_of_each_family() {
    let cluster = cluster_with(&[]);
    let says = |end: &str, family| match address(&cluster, &Endpoint::from(end), family) {
        Ok(address) => address.to_string(),
        Err(error) => error.to_string(),
    };
    assert_eq!(says("a/web", Family::V6), "fd00:10:10:1::2");
    assert_eq!(says("a/host", Family::V4), "192.168.0.11");
    assert_eq!(says("node:n2", Family::V6), "fd00:192::12");
    assert_eq!(says("203.0.113.5", Family::V4), "203.0.113.5");
    assert_eq!(says("203.0.113.5", Family::V6), "203.0.113.5 has no address of IPv6");
}

#[test]
fn text_that_is_no_question_says_what_was_expected() {
    let says = |text: &str| text.parse::<Question>().unwrap_err().to_string();
    let form = "is not \"FROM -> TO PROTOCOL PORT [over FAMILY]\"";
    assert_eq!(says("a/web a/db TCP 80"), format!("\"a/web a/db TCP 80\" {form}: five words"));
    assert_eq!(says("a/web -> a/db tcp 80"), format!("\"a/web -> a/db tcp 80\" {form}: TCP, UDP or SCTP"));
    assert_eq!(says("a/web -> a/db TCP http"), format!("\"a/web -> a/db TCP http\" {form}: a port's number"));
}

#[test]
fn yaml_that_is_no_object_of_a_cluster_is_an_error() {
    let says = |yaml: &str| Cluster::from_yaml(yaml).unwrap_err().to_string();
    assert_eq!(says("kind: Service"), "\"Service\" is none of Namespace, Node, Pod, NetworkPolicy");
    assert_eq!(says("{kind: Pod, spec: 5}"), "not a Pod");
    assert_eq!(says("{"), "not YAML");
}

#[test]
fn objects_are_named_by_kind_namespace_and_name() {
    let names: Vec<String> = cluster_with(&["policy a: {}"]).objects().iter().map(Object::name).collect();
    assert_eq!(names.first().unwrap(), "Namespace a");
    assert_eq!(names.last().unwrap(), "NetworkPolicy a/np0");
}

//! NetworkPolicies of a random cluster.

use k8s_openapi::api::networking::v1::{
    NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort,
    NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{Generator, Random, peers, places};

const NUMBERS: [i32; 5] = [80, 81, 8080, 53, 5060];
const RANGES: [(i32, i32); 5] = [(80, 81), (81, 8080), (1, 65535), (53, 80), (5000, 9000)];
const NAMES: [&str; 4] = ["http", "metrics", "dns", "sip"];

pub(super) fn policy(generator: &mut Generator, index: usize) -> NetworkPolicy {
    let namespace = generator.namespace_of(index);
    let ingress = rules(generator);
    let egress = rules(generator);
    let types = types(&mut generator.random);
    // Sections of a direction that the types do not name are valid and mean nothing; one in four is there.
    let mut section =
        |types: &[&str], one: &str| types.is_empty() || types.contains(&one) || generator.random.chance(25);
    let ingress = Some(ingress).filter(|_| section(types, "Ingress"));
    let egress = Some(egress).filter(|_| section(types, "Egress"));
    let spec = NetworkPolicySpec {
        pod_selector: Some(peers::pod_selector(&mut generator.random)),
        policy_types: Some(types.iter().map(|one| (*one).to_owned()).collect()).filter(|_| !types.is_empty()),
        ingress: ingress.map(|rules| rules.into_iter().map(Rule::ingress).collect()),
        egress: egress.map(|rules| rules.into_iter().map(Rule::egress).collect()),
    };
    NetworkPolicy {
        metadata: ObjectMeta {
            name: Some(format!("np{index}")),
            namespace: Some(namespace),
            uid: Some(places::uid(2, index)),
            ..ObjectMeta::default()
        },
        spec: Some(spec),
    }
}

fn types(random: &mut Random) -> &'static [&'static str] {
    let types: [(usize, &[&str]); 4] =
        [(20, &[]), (30, &["Ingress"]), (30, &["Egress"]), (20, &["Ingress", "Egress"])];
    random.weighted(&types)
}

/// A rule before its direction.
struct Rule {
    peers: Option<Vec<NetworkPolicyPeer>>,
    ports: Option<Vec<NetworkPolicyPort>>,
}

impl Rule {
    fn ingress(self) -> NetworkPolicyIngressRule {
        NetworkPolicyIngressRule { from: self.peers, ports: self.ports }
    }

    fn egress(self) -> NetworkPolicyEgressRule {
        NetworkPolicyEgressRule { to: self.peers, ports: self.ports }
    }
}

fn rules(generator: &mut Generator) -> Vec<Rule> {
    let count = generator.random.weighted(&[(15, 0), (45, 1), (40, 2)]);
    (0..count).map(|_| rule(generator)).collect()
}

fn rule(generator: &mut Generator) -> Rule {
    let families = generator.options.families;
    let random = &mut generator.random;
    let peer_count = random.weighted(&[(15, 0), (45, 1), (40, 2)]);
    let peers: Vec<_> = (0..peer_count).flat_map(|_| peers::peers(random, families)).collect();
    let port_count = random.weighted(&[(35, 0), (35, 1), (30, 2)]);
    let ports: Vec<_> = (0..port_count).map(|_| port(random)).collect();
    Rule { peers: empty_or_missing(random, peers), ports: empty_or_missing(random, ports) }
}

/// A list without entries is there or not: it means the same.
fn empty_or_missing<T>(random: &mut Random, list: Vec<T>) -> Option<Vec<T>> {
    let there = !list.is_empty() || random.chance(50);
    Some(list).filter(|_| there)
}

#[derive(Clone, Copy)]
enum Ports {
    Number,
    Name,
    Range,
    All,
}

fn port(random: &mut Random) -> NetworkPolicyPort {
    let protocol = random.weighted(&[(40, None), (30, Some("TCP")), (20, Some("UDP")), (10, Some("SCTP"))]);
    let (port, end_port) = match random.weighted(&[
        (30, Ports::Number),
        (30, Ports::Name),
        (30, Ports::Range),
        (10, Ports::All),
    ]) {
        Ports::Number => (Some(IntOrString::Int(random.pick(&NUMBERS))), None),
        Ports::Name => (Some(IntOrString::String(random.pick(&NAMES).to_owned())), None),
        Ports::Range => {
            let (first, last) = random.pick(&RANGES);
            (Some(IntOrString::Int(first)), Some(last))
        }
        Ports::All => (None, None),
    };
    NetworkPolicyPort { protocol: protocol.map(str::to_owned), port, end_port }
}

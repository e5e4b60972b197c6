//! What is attacked, who else asks it, and what is looked at meanwhile.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use antrea_e2e::names::NodeId;
use antrea_e2e::pods::PORT;
use antrea_e2e::wait;
use anyhow::{Context, Result};
use serde_json::json;

use crate::agent_access::token;
use crate::cluster::NAMESPACE;
use crate::hostile::attack::Attack;
use crate::hostile::attacker::Port;
use crate::hostile::memory;
use crate::hostile::questions::{Question, Transport};
use crate::policies::controllers;
use crate::policies::stage::Stage;
use crate::services::ask::{Answer, Target};
use crate::services::objects::{self, Endpoint, Service};
use crate::services::stage::Host;

/// What an agent watches, and the controller answers it.
const POLICIES: &str = "/apis/controlplane.antrea.io/v1beta2/networkpolicies";

/// What everybody may ask the controller for who has a token, with the largest answer that they get.
const DOCUMENT: &str = "/openapi/v2";

/// A ServiceAccount that may do one thing, in the Namespace of the attackers, and the path of that: the controller knows nothing of
/// leases, but whether somebody may read them.
const HOLDER: &str = "apiVersion: v1
kind: ServiceAccount
metadata: {name: holder, namespace: z}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: holder, namespace: z}
rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: holder, namespace: z}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: holder}
subjects: [{kind: ServiceAccount, name: holder, namespace: z}]";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/z/leases/x";

/// For what the API server says to be in Open vSwitch, whatever else goes on.
const PATIENCE: Duration = Duration::from_secs(60);

/// How soon an agent begins a watch once more. Of some thousand handshakes a second behind one address, the server ends those that
/// take longest: an agent's may be one of them.
const AGENT_WAITS: Duration = Duration::from_secs(1);

/// For an answer of a Pod where there may be none.
const FOR_AN_ANSWER: Duration = Duration::from_millis(90);

const ISOLATED: &str = "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: isolated, namespace: x}
spec: {podSelector: {matchLabels: {app: x-a}}, policyTypes: [Ingress]}";

const ADMITTED: &str = "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: admitted, namespace: x}
spec: {podSelector: {matchLabels: {app: x-a}}, ingress: [{from: [{podSelector: {}}]}]}";

/// How many policies are timed in each attack that every port has to stand, and in each of the others, which are to be short.
const POLICIES_TIMED: usize = 50;
const FEW_POLICIES: usize = 5;

/// An attack on a port, and how many policies are timed meanwhile.
pub(super) struct Assault {
    pub(super) attack: Attack,
    pub(super) port: Port,
    pub(super) policies: usize,
}

/// A port that is attacked, and who else asks it.
pub(super) struct AttackedPort {
    pub(super) name: &'static str,
    pub(super) port: Port,
    /// What else is done to it, and with what.
    further: Vec<(Attack, Port)>,
    node: NodeId,
    /// As the kubelet asks, on the Node itself.
    pub(super) probe: Question,
    /// As a load balancer or another Node asks.
    pub(super) other_host: Question,
    /// The number of its process.
    process: i32,
    /// What that took before the first attack, in KiB.
    pub(super) idle_memory: u64,
}

/// The ports, and policies about Pod `x-a` that come and go.
pub(super) struct Scene<'a> {
    pub(super) stage: &'a Stage<'a>,
    pub(super) ports: Vec<AttackedPort>,
    /// The controller's port.
    controller: SocketAddr,
    /// Headers with the tokens of both agents.
    tokens: Vec<(NodeId, String)>,
}

impl<'a> Scene<'a> {
    pub(super) fn set(stage: &'a Stage<'a>) -> Result<Self> {
        let services = stage.services;
        let tokens =
            [services.here.node, services.there.node].map(|node| Ok((node, credentials(stage, node)?)));
        let (node, controller) = controllers::process(stage)?;
        let host = if node == services.here.node { &services.here } else { &services.there };
        let agent = services.cluster.agent_here(services.here.node)?.pid;
        let health = ("/healthz", "/healthz");
        let balanced = health_check_node_port(stage)?;
        let ports = vec![
            AttackedPort::of(
                stage,
                "agent",
                (&services.here, 10350, Transport::Tls),
                ("/livez", "/agentinfo"),
                agent,
            )?,
            AttackedPort::of(
                stage,
                "controller",
                (host, 10349, Transport::Tls),
                ("/livez", POLICIES),
                controller.pid,
            )?
            .with_paths_of_the_api(holder(stage)?),
            AttackedPort::of(
                stage,
                "health of Services",
                (&services.here, 10256, Transport::Plain),
                health,
                agent,
            )?,
            AttackedPort::of(
                stage,
                "healthCheckNodePort",
                (&services.here, balanced, Transport::Plain),
                ("/", "/"),
                agent,
            )?,
        ];
        let controller = SocketAddr::new(ip(host)?, 10349);
        let scene = Self { stage, ports, controller, tokens: tokens.into_iter().collect::<Result<_>>()? };
        stage.apply(ISOLATED)?;
        wait::until(PATIENCE, "Pod x-a to be isolated", || Ok(!scene.is_admitted()?))?;
        Ok(scene)
    }

    /// A new watch of the agent of the attacker's Node, behind whose address the attacker may come.
    pub(super) fn watch_from(&self, node: NodeId) -> Result<Question> {
        let (_, token) = self.tokens.iter().find(|(one, _)| *one == node).context("no token")?;
        self.watch(node, token)
    }

    /// The first watch of an agent there that starts.
    pub(super) fn newcomer(&self, node: NodeId) -> Result<Question> {
        self.watch(node, &credentials(self.stage, node)?)
    }

    fn watch(&self, node: NodeId, token: &str) -> Result<Question> {
        let services = self.stage.services;
        let host = [&services.here, &services.there].into_iter().find(|host| host.node == node);
        let host = host.context("the attacker is on no Node")?;
        let path = format!("{POLICIES}?watch=true&timeoutSeconds=1&fieldSelector=nodeName%3D{node}");
        let watch = Question::new(&host.network, (self.controller, Transport::Tls), &path, token);
        Ok(watch.again_after(AGENT_WAITS))
    }

    /// From the API server's answer, which has a policy that admits somebody, until the Pod is reached; then it is gone.
    pub(super) fn time_of_a_policy(&self) -> Result<Duration> {
        self.stage.apply(ADMITTED)?;
        let begun = Instant::now();
        let admitted = || Ok(self.is_admitted()?.then_some(()));
        wait::closely(PATIENCE, "a policy to admit a Pod", admitted)?;
        let took = begun.elapsed();
        self.stage.delete_policy("x", "admitted")?;
        // A single answer may be lost.
        wait::until(PATIENCE, "a policy to be gone", || Ok(!self.is_admitted()? && !self.is_admitted()?))?;
        Ok(took)
    }

    fn is_admitted(&self) -> Result<bool> {
        let to = self.stage.pod("x-a")?.ips.v4.context("a Pod without address")?;
        let from = &self.stage.pod("x-b")?.network;
        Ok(matches!(Target::udp(to, PORT).hostname_within(FOR_AN_ANSWER, from)?, Answer::Said(_)))
    }

    /// Takes the attacker's right away, so that no later test has it.
    pub(super) fn forget_holder(&self) -> Result<()> {
        let kubectl = &self.stage.services.cluster.kubectl;
        kubectl.text(&["delete", "-n", "z", "serviceaccount,role,rolebinding", "holder"]).map(drop)
    }

    /// How often the programs were started again that are attacked.
    pub(super) fn restarts(&self) -> Result<Vec<u64>> {
        let services = self.stage.services;
        let controller =
            controllers::pod(self.stage)?["status"]["containerStatuses"][0]["restartCount"].as_u64();
        let agents = [services.here.node, services.there.node].map(|node| services.cluster.agent(node));
        let agents = agents.into_iter().map(|agent| Ok(agent?.restarts));
        agents.chain([controller.context("a controller without status")]).collect()
    }
}

impl AttackedPort {
    /// `paths`: of health, and of what takes a right.
    fn of(
        stage: &Stage<'_>,
        name: &'static str,
        (host, port, transport): (&Host, u16, Transport),
        (health, path): (&'static str, &'static str),
        process: i32,
    ) -> Result<Self> {
        let address = SocketAddr::new(ip(host)?, port);
        let local = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        let probe = Question::new(&host.network, (local, transport), health, "");
        let other_host = Question::new(&stage.services.outside, (address, transport), health, "");
        let idle_memory = memory(process)?;
        wait::until(PATIENCE, &format!("{name} to answer"), || {
            probe.time().and(other_host.time()).map(|_| true)
        })?;
        let token = token(&stage.services.cluster, &["default"])?;
        let port = Port { address, transport, path, token };
        let (further, node) = (Vec::new(), host.node);
        Ok(Self { name, port, further, node, probe, other_host, process, idle_memory })
    }

    /// What can be done to an API that asks who may do what, by somebody who has a token.
    fn with_paths_of_the_api(self, holder: String) -> Self {
        let readers = Port { path: DOCUMENT, ..self.port.clone() };
        let elsewhere = Port { path: LEASE, token: holder, ..self.port.clone() };
        let further = vec![
            (Attack::Readers, readers.clone()),
            (Attack::Deaf, readers),
            (Attack::RightElsewhere, elsewhere),
        ];
        Self { further, ..self }
    }

    /// What is done to it from a Node. For what else is done one that is not its own is enough: from there the attacker comes behind
    /// the address of an agent.
    pub(super) fn assaults_from(&self, node: NodeId) -> Vec<Assault> {
        let any = Attack::ON_ANY_PORT.map(|attack| Assault {
            attack,
            port: self.port.clone(),
            policies: POLICIES_TIMED,
        });
        let further = self.further.iter().filter(|_| node != self.node);
        let further = further.map(|(attack, port)| Assault {
            attack: *attack,
            port: port.clone(),
            policies: FEW_POLICIES,
        });
        any.into_iter().chain(further).collect()
    }

    pub(super) fn memory_now(&self) -> Result<u64> {
        memory(self.process)
    }
}

/// An address of IPv4.
fn ip(host: &Host) -> Result<IpAddr> {
    host.ips.v4.with_context(|| format!("{} has no address of IPv4", host.node))
}

/// The header with a token of a Node's agent.
fn credentials(stage: &Stage<'_>, node: NodeId) -> Result<String> {
    let cluster = &stage.services.cluster;
    let pod = cluster.agent(node)?.pod;
    let words = ["antrea-agent", "-n", NAMESPACE, "--bound-object-kind=Pod", "--bound-object-name", &pod];
    Ok(format!("Authorization: Bearer {}\r\n", token(cluster, &words)?))
}

/// A token of the holder, once the API server grants its right.
fn holder(stage: &Stage<'_>) -> Result<String> {
    let cluster = &stage.services.cluster;
    cluster.kubectl.apply(HOLDER)?;
    let may = ["auth", "can-i", "get", "leases.coordination.k8s.io", "-n", "z"];
    let may = [may.as_slice(), &["--as=system:serviceaccount:z:holder"]].concat();
    wait::eventually(PATIENCE, "a right of a ServiceAccount", || cluster.kubectl.text(&may).map(Some))?;
    token(cluster, &["holder", "-n", "z"])
}

/// Of a Service with an endpoint on the first Node.
fn health_check_node_port(stage: &Stage<'_>) -> Result<u16> {
    let spec = json!({ "type": "LoadBalancer", "externalTrafficPolicy": "Local" });
    let Service { object } = stage.services.service("hostile", &spec)?;
    objects::apply_slices(stage.api(), "hostile", "a", &[Endpoint::ready(stage.services.servers[0])])?;
    let port = object["spec"]["healthCheckNodePort"].as_u64().and_then(|port| u16::try_from(port).ok());
    port.context("a Service without a healthCheckNodePort")
}

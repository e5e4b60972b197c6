//! The cluster that the tests of Services share: two Nodes, both families, two servers and a client on each Node, and a
//! way from the outside to the addresses of load balancers.

use std::sync::Mutex;
use std::time::Duration;

use antrea_e2e::command::{Run as _, command};
use antrea_e2e::install::Product;
use antrea_e2e::lab::Lab;
use antrea_e2e::names::{NodeId, Place};
use antrea_e2e::plan::{Families, Install, Request, ServiceProxy};
use antrea_e2e::scenario::{Extent, is_wanted, product, request};
use antrea_e2e::wait;
use antrea_types::DualStack;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::api::{Api, ENDPOINT_SLICES, SERVICES};
use super::ask::{Answer, Target};
use super::network::Network;
use super::objects::Service;
use super::peers::{self, Peer};
use crate::cluster::Cluster;
use crate::shared::{self, OnALab};

/// Whose Services these are: everything but what [`with_antrea_proxy`] runs holds for kube-proxy as well.
pub(crate) const PROXY: ServiceProxy = Install::Antrea.service_proxy();

/// For the proxy to do what the API server says.
const PATIENCE: Duration = Duration::from_secs(20);

/// The ranges that tests take addresses of load balancers from (RFC 5737, RFC 3849). The outside reaches them through
/// the first Node.
const LOAD_BALANCERS: [&str; 2] = ["198.51.100.0/24", "2001:db8::/64"];

/// The Service that the installation is told to leave alone.
pub(crate) const SKIPPED: &str = "skipped";

static SHARED: Mutex<Option<Shared>> = Mutex::new(None);

/// What lasts from test to test.
struct Shared {
    lab: Lab,
    api: Api,
    peers: Vec<Peer>,
}

/// The cluster and everybody on it.
pub(crate) struct Stage<'a> {
    pub(crate) cluster: Cluster<'a>,
    pub(crate) api: &'a Api,
    /// The first Node, which has servers 0 and 1.
    pub(crate) here: Host,
    /// The last Node, which has servers 2 and 3.
    pub(crate) there: Host,
    pub(crate) outside: Network,
    pub(crate) servers: [&'a Peer; 4],
    /// On the first and on the last Node.
    pub(crate) clients: [&'a Peer; 2],
}

/// A Node, and its network.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    pub(crate) node: NodeId,
    pub(crate) ips: DualStack<std::net::IpAddr>,
    pub(crate) network: Network,
}

/// What a Service proxy has to be for a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demand {
    /// What any can do.
    Any,
    /// What AntreaProxy alone does.
    Antrea,
}

/// Runs `test` on the shared cluster, and deletes the Services that it made.
pub(crate) fn on_the_stage(name: &str, test: impl FnOnce(&Stage<'_>) -> Result<()>) {
    on_the_stage_of(Extent::Standard, name, test);
}

/// The same, where tests of this extent are wanted.
pub(crate) fn on_the_stage_of(extent: Extent, name: &str, test: impl FnOnce(&Stage<'_>) -> Result<()>) {
    with_demand(name, extent, Demand::Any, test);
}

/// As [`on_the_stage`], where AntreaProxy serves.
pub(crate) fn with_antrea_proxy(name: &str, test: impl FnOnce(&Stage<'_>) -> Result<()>) {
    with_demand(name, Extent::Standard, Demand::Antrea, test);
}

fn with_demand(name: &str, extent: Extent, demand: Demand, test: impl FnOnce(&Stage<'_>) -> Result<()>) {
    if !is_wanted(name, extent) {
        return;
    }
    let request =
        Request { families: Families::Dual, service_proxy: Some(PROXY), ..request(Install::Antrea) };
    if demand == Demand::Antrea && PROXY != ServiceProxy::Antrea {
        println!("SKIPPED {name}: {PROXY} does not do it");
        return;
    }
    let result = shared::with(&SHARED, || Shared::make(&request), |shared| shared.run(test));
    assert!(result.is_ok(), "{name}: {:?}", result.err());
}

impl OnALab for Shared {
    fn lab(&self) -> &Lab {
        &self.lab
    }
}

impl Shared {
    fn make(request: &Request) -> Result<Self> {
        let (lab, (api, peers)) = shared::make(request, &wanted()?, prepare)?;
        Ok(Self { lab, api, peers })
    }

    fn run(&self, test: impl FnOnce(&Stage<'_>) -> Result<()>) -> Result<()> {
        let cluster = Cluster::new(&self.lab)?;
        let (here, there) = cluster.two_nodes()?;
        let [a, b, c, d, client_a, client_b] = self.peers.as_slice() else {
            anyhow::bail!("a Pod is missing")
        };
        let stage = Stage {
            here: Host::of(&self.lab, here)?,
            there: Host::of(&self.lab, there)?,
            outside: Network::of_place(&self.lab, Place::Outside)?,
            cluster,
            api: &self.api,
            servers: [a, b, c, d],
            clients: [client_a, client_b],
        };
        test(&stage)?;
        self.api.delete_all(SERVICES)?;
        self.api.delete_all(ENDPOINT_SLICES)
    }
}

/// The product with what the tests need beside its defaults.
fn wanted() -> Result<Product> {
    let mut product = product()?;
    if PROXY == ServiceProxy::Antrea {
        product.settings.push("featureGates.LoadBalancerModeDSR=true".to_owned());
        product.settings.push(format!("antreaProxy.skipServices={{default/{SKIPPED}}}"));
    }
    Ok(product)
}

fn prepare(lab: &Lab) -> Result<(Api, Vec<Peer>)> {
    let cluster = Cluster::new(lab)?;
    let api = Api::start(&lab.plan().name, &cluster.kubectl)?;
    let (here, there) = cluster.two_nodes()?;
    for (node, zone) in [(here, "zone-a"), (there, "zone-b")] {
        let labels = json!({ "metadata": { "labels": { "topology.kubernetes.io/zone": zone } } });
        api.patch(&format!("/api/v1/nodes/{node}"), &labels)?;
    }
    lead_to_load_balancers(lab, here)?;
    let peers = peers::create(lab, &cluster.kubectl, &api, [here, there])?;
    Ok((api, peers))
}

/// What a router in front of a cluster does with the addresses of its load balancers.
pub(crate) fn lead_to_load_balancers(lab: &Lab, node: NodeId) -> Result<()> {
    let router = lab.plan().namespace(Place::Router)?;
    for (range, ip) in LOAD_BALANCERS.iter().zip(lab.plan().node(node)?.node_ips.iter()) {
        command("ip", &["-n", &router, "route", "replace", range, "via", &ip.to_string()]).run()?;
    }
    Ok(())
}

impl Host {
    fn of(lab: &Lab, node: NodeId) -> Result<Self> {
        let network = Network::of_place(lab, Place::Node(node))?;
        Ok(Self { node, ips: lab.plan().node(node)?.node_ips, network })
    }
}

impl Stage<'_> {
    /// Makes a Service that is to have addresses of both families, and returns it with them.
    pub(crate) fn service(&self, name: &str, spec: &Value) -> Result<Service> {
        Service::apply(self.api, name, spec)
    }

    /// Everybody inside of the cluster.
    pub(crate) fn insiders(&self) -> [&Network; 4] {
        let [a, b] = self.clients;
        [&a.network, &b.network, &self.here.network, &self.there.network]
    }

    /// Waits until a client reaches all of these servers and, for some time, no other.
    pub(crate) fn ensure_reaches(&self, from: &Network, to: Target, servers: &[&Peer]) -> Result<()> {
        ensure!(!servers.is_empty(), "somebody has to answer");
        let wanted = || servers.iter().map(|server| Answer::Said(server.name.clone()));
        // So many that it is noticed when a few connections still go to another, or none goes to one.
        let times = 12 * servers.len();
        self.until(&format!("{} to reach {} at {to}", from.name, names(servers)), || {
            let answers = to.hostnames(from, times)?;
            ensure!(answers.keys().cloned().eq(wanted()), "{answers:?}");
            Ok(())
        })
    }

    /// Waits until a client is refused.
    pub(crate) fn ensure_refused(&self, from: &Network, to: Target) -> Result<()> {
        self.until(&format!("{} to be refused at {to}", from.name), || {
            let answers = to.hostnames(from, 2)?;
            ensure!(answers.keys().eq([&Answer::Refused]), "{answers:?}");
            Ok(())
        })
    }

    /// Waits until nobody serves a client, however it learns of it.
    pub(crate) fn ensure_nobody_answers(&self, from: &Network, to: Target) -> Result<()> {
        self.until(&format!("{} to be turned away at {to}", from.name), || {
            let answer = to.hostname_soon(from)?;
            ensure!(!matches!(answer, Answer::Said(_)), "{answer}");
            Ok(())
        })
    }

    /// Waits until something is so that the proxy has been told of.
    pub(crate) fn until(&self, what: &str, mut condition: impl FnMut() -> Result<()>) -> Result<()> {
        wait::until(PATIENCE, what, || condition().map(|()| true))
    }

    /// Flows of Open vSwitch on the first Node.
    pub(crate) fn flows(&self) -> Result<String> {
        let dump = ["ovs-ofctl", "-O", "OpenFlow15", "dump-flows", crate::traces::BRIDGE];
        self.cluster.on_node(self.here.node, &dump)
    }

    pub(crate) fn node(&self, number: usize) -> Result<&Host> {
        [&self.here, &self.there].into_iter().nth(number).context("there are two Nodes")
    }
}

fn names(servers: &[&Peer]) -> String {
    servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>().join(", ")
}

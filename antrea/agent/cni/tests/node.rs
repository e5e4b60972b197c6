//! A Node with Open vSwitch and a CNI server on a socket, and a client that calls it.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use antrea_agent_cni::Dependencies;
use antrea_agent_cni::interface_store::InterfaceStore;
use antrea_agent_cni::ipam::IpamError;
use antrea_agent_cni::ipam::host_local::HostLocal;
use antrea_agent_cni::server::CniServer;
use antrea_agent_cni::settings::Settings;
use antrea_cni::error::CniError;
use antrea_cni::proto::cni_client::CniClient;
use antrea_cni::proto::{CniCmdArgs, CniCmdRequest, CniCmdResponse};
use antrea_host::pod_interface::HostIngress;
use antrea_host::{Netlink, TxChecksumOffload};
use antrea_ovs::ovsdb::OvsDb;
use antrea_ovs::testing::{OvsProcess, why_unavailable};
use nix::sched::{CloneFlags, setns};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::transport::{Channel, Endpoint};
use tonic::{Response, Status};

use crate::flows::RecordedFlows;
use crate::pod::Pod;

pub(crate) const BRIDGE: &str = "br-int";

/// What survives a restart of the agent: Open vSwitch, the kernel, files.
pub(crate) struct Node {
    pub(crate) ovs: OvsProcess,
    directory: tempfile::TempDir,
    pod_cidrs: Vec<String>,
}

/// The agent's part, which does not.
pub(crate) struct Agent {
    pub(crate) server: CniServer,
    pub(crate) flows: Arc<RecordedFlows>,
    pub(crate) store: InterfaceStore,
    database: OvsDb,
    client: CniClient<Channel>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

/// The network configuration in a version, with more entries.
pub(crate) fn config(version: &str, more: &str) -> String {
    format!(
        r#"{{"cniVersion":"{version}","name":"antrea","type":"antrea","ipam":{{"type":"host-local"}}{more}}}"#
    )
}

/// Runs a test on a Node with those Pod CIDRs: on a thread, and with a runtime, in the network namespace of the Node.
/// Where it cannot be made the test is skipped.
pub(crate) fn on_node(pod_cidrs: &[&str], test: impl AsyncFnOnce(Node) + Send + 'static) {
    if let Some(reason) = why_unavailable() {
        return skipped(&reason);
    }
    let pod_cidrs = pod_cidrs.iter().map(ToString::to_string).collect();
    let visit = move || {
        let node = Node::start(pod_cidrs);
        let namespace = File::open(format!("/var/run/netns/{}", node.ovs.namespace())).unwrap();
        setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
        // Its workers are born where this thread is.
        tokio::runtime::Runtime::new().unwrap().block_on(test(node));
    };
    if let Err(panic) = std::thread::spawn(visit).join() {
        std::panic::resume_unwind(panic);
    }
}

/// Says that the test of this thread did not run, as `cargo xtask test` understands it.
pub(crate) fn skipped(reason: &str) {
    println!("SKIPPED {}: {reason}", std::thread::current().name().unwrap_or("a test"));
}

impl Node {
    fn start(pod_cidrs: Vec<String>) -> Self {
        let ovs = OvsProcess::start().unwrap();
        ovs.vsctl(["add-br", BRIDGE, "--", "set", "bridge", BRIDGE, "datapath_type=netdev"]).unwrap();
        Self { ovs, directory: tempfile::tempdir().unwrap(), pod_cidrs }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join("cni.sock")
    }

    pub(crate) fn ipam(&self) -> HostLocal {
        let nets = self.pod_cidrs.iter().map(|net| net.parse().unwrap());
        HostLocal::new(self.directory.path().join("networks"), nets).unwrap()
    }

    /// Has the lock of the IPAM state as another program does, until what is returned is dropped.
    pub(crate) fn hold_ipam(&self) -> File {
        let directory = self.directory.path().join("networks");
        std::fs::create_dir_all(&directory).unwrap();
        let lock = File::create(directory.join("lock")).unwrap();
        lock.lock().unwrap();
        lock
    }

    /// An agent that is up to the point where it calls `inventory`, and serves already.
    pub(crate) async fn agent(&self) -> Agent {
        let flows = Arc::new(RecordedFlows::default());
        let store = InterfaceStore::default();
        let database = OvsDb::connect(self.ovs.database_socket()).await;
        let dependencies = Dependencies {
            ipam: self.ipam(),
            ovsdb: database.clone(),
            netlink: Netlink::current().unwrap(),
            store: store.clone(),
            flows: Arc::clone(&flows) as Arc<_>,
        };
        let server = CniServer::new(settings(), dependencies);
        let (stop, stopped) = oneshot::channel::<()>();
        let (serving, socket) = (server.clone(), self.socket());
        let task = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            serving.serve(&socket, stopped).await.unwrap();
        });
        let client = self.connect().await;
        Agent { server, flows, store, database, client, stop: Some(stop), task }
    }

    async fn connect(&self) -> CniClient<Channel> {
        let endpoint = Endpoint::from_shared(format!("unix://{}", self.socket().display())).unwrap();
        loop {
            match endpoint.connect().await {
                Ok(channel) => return CniClient::new(channel),
                Err(_) => tokio::task::yield_now().await,
            }
        }
    }

    /// What there is of Pods: ports, links, addresses and flows, a line each.
    pub(crate) fn state(&self, agent: &Agent) -> Vec<String> {
        let mut lines = Vec::new();
        let mut ports: Vec<String> =
            self.ovs.vsctl(["list-ports", BRIDGE]).unwrap().lines().map(Into::into).collect();
        ports.sort();
        lines.extend(ports.iter().map(|port| format!("port {port}")));
        let links = self.ovs.ip(["-o", "link", "show", "type", "veth"]).unwrap();
        let mut links: Vec<&str> = links.lines().filter_map(|line| line.split([' ', '@']).nth(1)).collect();
        links.sort_unstable();
        lines.extend(links.iter().map(|link| format!("link {link}")));
        let held = loop {
            match self.ipam().allocations() {
                Err(IpamError::Held(_)) => std::thread::yield_now(),
                held => break held.unwrap(),
            }
        };
        lines.extend(held.iter().map(|(address, holder)| format!("address {address} of {holder}")));
        let flow = |(name, pod): (_, antrea_pipeline::PodInterface)| {
            let ips = pod.ips.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            format!("flows {name} {ips}")
        };
        lines.extend(agent.flows.present().into_iter().map(flow));
        lines
    }
}

fn settings() -> Settings {
    Settings {
        bridge: BRIDGE.to_owned(),
        mtu: 1450,
        host_proc_path_prefix: "/".to_owned(),
        tx_checksum_offload: TxChecksumOffload::Off,
        host_ingress: HostIngress::Drop,
    }
}

impl Agent {
    /// Calls ADD, and returns its result. What a failed one undoes is undone then.
    pub(crate) async fn add(&self, pod: &Pod, config: &str) -> Result<Value, CniError> {
        let response = self.client.clone().cmd_add(request(pod, config)).await;
        let result = outcome(response).map(|result| serde_json::from_slice(&result).unwrap());
        if result.is_err() {
            self.server.settled().await;
        }
        result
    }

    pub(crate) async fn check(&self, pod: &Pod, config: &str) -> Result<(), CniError> {
        outcome(self.client.clone().cmd_check(request(pod, config)).await).map(drop)
    }

    /// What the agent does whenever the database changes, for as long as there is one.
    pub(crate) fn follow_port_numbers(&self) -> impl Future<Output = ()> + Send + use<> {
        let (server, mut changed) = (self.server.clone(), self.database.changed());
        async move {
            while changed.changed().await.is_ok() {
                assert_eq!(server.sync_port_numbers().await.unwrap(), []);
            }
        }
    }

    /// Waits until the agent's copy of the database is like that.
    pub(crate) async fn until_the_database(&self, is_so: impl Fn(&OvsDb) -> bool) {
        let mut changed = self.database.changed();
        while !is_so(&self.database) {
            changed.changed().await.unwrap();
        }
    }

    pub(crate) async fn status(&self) -> Result<(), CniError> {
        outcome(self.client.clone().cmd_status(on_network(&config("1.1.0", ""))).await).map(drop)
    }

    /// Calls GC with the containers whose attachment `eth0` is valid, and waits until all is gone.
    pub(crate) async fn gc(&self, valid: &[&str]) -> Result<(), CniError> {
        let attachment = |id: &&str| format!(r#"{{"containerID":"{id}","ifname":"eth0"}}"#);
        let list = valid.iter().map(attachment).collect::<Vec<_>>().join(",");
        let config = config("1.1.0", &format!(r#","cni.dev/valid-attachments":[{list}]"#));
        let result = outcome(self.client.clone().cmd_gc(on_network(&config)).await).map(drop);
        self.server.settled().await;
        result
    }

    /// Calls DEL, and waits until the link is gone as well, for which the container is locked, and the addresses.
    pub(crate) async fn del(&self, pod: &Pod) -> Result<(), CniError> {
        self.del_once(pod).await?;
        self.del_once(pod).await?;
        self.server.settled().await;
        Ok(())
    }

    pub(crate) async fn del_once(&self, pod: &Pod) -> Result<(), CniError> {
        outcome(self.client.clone().cmd_del(request(pod, &config("0.3.0", ""))).await).map(drop)
    }

    /// Ends the agent, and waits until its socket is closed.
    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        drop(self.client);
        self.task.await.unwrap();
    }
}

fn request(pod: &Pod, config: &str) -> CniCmdRequest {
    let arguments = CniCmdArgs {
        container_id: pod.container_id.clone(),
        netns: pod.netns(),
        ifname: "eth0".to_owned(),
        args: pod.args(),
        path: String::new(),
        network_configuration: config.into(),
    };
    CniCmdRequest { cni_args: Some(arguments) }
}

/// A request that is about no container.
fn on_network(config: &str) -> CniCmdRequest {
    let arguments = CniCmdArgs { network_configuration: config.into(), ..CniCmdArgs::default() };
    CniCmdRequest { cni_args: Some(arguments) }
}

fn outcome(response: Result<Response<CniCmdResponse>, Status>) -> Result<Vec<u8>, CniError> {
    let CniCmdResponse { cni_result, error } = response.unwrap().into_inner();
    error.map_or(Ok(cni_result), |error| Err(error.into()))
}

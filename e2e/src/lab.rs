//! A lab from `up` to `down`.

use std::fs;
use std::path::Path;

use antrea_preflight::cgroups::Cgroups;
use anyhow::{Context, Result};

use crate::admission::{self, begin};
use crate::install::{self, Product};
use crate::kubectl::Kubectl;
use crate::names::{ClusterId, LabName, NodeId, Place};
use crate::plan::{ClusterPlan, Install, Plan, Request};
use crate::pod_cidrs::PodCidrs;
use crate::programs::{self, Programs};
use crate::progress::{all_at_once, step};
use crate::state::{self, Phase, State};
use crate::{
    bridge_network, cleanup, cluster_dns, control_plane, image_store, node, outside, packages, processes,
    topology,
};

/// How long a lab lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// Until `down`.
    UntilDown,
    /// Until this process ends: whoever makes or tests a lab next removes it.
    OfThisProcess,
}

/// A lab that is up.
#[derive(Debug, Clone)]
pub struct Lab {
    plan: Plan,
    programs: Programs,
}

impl Lab {
    /// Makes a lab and waits until all of it is ready.
    ///
    /// # Errors
    /// One sentence on what is missing, before anything is changed; later, what went wrong. What there is by then
    /// stays, to be looked at, until the next `up` or `down` of the same name.
    pub fn up(request: &Request, product: &Product, lifetime: Lifetime) -> Result<Self> {
        admission::check(request)?;
        let removed = cleanup::remove_leftovers()?;
        if removed > 0 {
            eprintln!("  removed {removed} things that killed runs had left");
        }
        packages::ensure_installed()?;
        raise_limits()?;
        let programs = programs::ensure_built()?;
        let clusters = request.plan(&[])?.clusters;
        let images = image_store::ensure_prepared(&programs, &install::archives(&clusters, product))?;
        let mut state = begin(request, &programs)?;
        let lab = Self { plan: state.plan.clone(), programs };
        let result = lab.build(&images, product);
        state.phase = if result.is_ok() { Phase::Ready } else { Phase::Failed };
        if lifetime == Lifetime::UntilDown {
            state.owner = None;
        }
        state.write()?;
        result.with_context(|| {
            format!(
                "lab {0} did not come up; look at it with `cargo xtask lab logs --name {0}`",
                request.name
            )
        })?;
        Ok(lab)
    }

    /// A lab that is up already.
    ///
    /// # Errors
    /// When there is none of this name, or it did not come up.
    pub fn open(name: &LabName) -> Result<Self> {
        let state = State::read(name)?;
        Ok(Self { plan: state.plan, programs: Programs::existing(&state.programs)? })
    }

    /// Removes it.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn down(&self) -> Result<()> {
        cleanup::remove(&self.plan.name).map(|_| ())
    }

    /// What it consists of.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The Kubernetes programs it runs.
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Kills everything on a Node, gives it other addresses, the `offset`s of its subnets, and starts it again: as if the
    /// machine had been moved. What is in its folder stays. Returns the lab as it is then.
    ///
    /// # Errors
    /// When there is no such Node or address, or the Node cannot be stopped or started.
    pub fn renumber(&self, node: NodeId, offset: u8) -> Result<Self> {
        let lab = Self { plan: self.plan.renumbered(node, offset)?, programs: self.programs.clone() };
        let mut state = State::read(&self.plan.name)?;
        self.kill_node(node)?;
        state.plan.clone_from(&lab.plan);
        state.write()?;
        lab.boot_node(node)?;
        Ok(lab)
    }

    /// Kills everything on a Node, as when its machine loses power.
    ///
    /// # Errors
    /// When there is no such Node, or a process does not go.
    pub fn kill_node(&self, node: NodeId) -> Result<()> {
        processes::kill_in_namespace(&self.plan.namespace(Place::Node(node))?).map(drop)
    }

    /// Starts a Node again that was killed, with the network that it has at first. What is in its folder is there.
    ///
    /// # Errors
    /// When there is no such Node, or it does not start.
    pub fn boot_node(&self, node: NodeId) -> Result<()> {
        topology::configure_again(&self.plan, node)?;
        let cluster = self.plan.cluster(node.cluster)?;
        node::boot(&self.programs, &self.plan.name, cluster, self.plan.node(node)?)
    }

    /// Gives Nodes, and the programs of their control planes, ten times the processor time of what runs beside them, where
    /// there is not enough for both: on machines of their own, a switch and an API server do not wait for tests and for labs
    /// that are being made.
    ///
    /// # Errors
    /// When the weight of one cannot be changed.
    pub fn prefer(&self) -> Result<()> {
        for cluster in &self.plan.clusters {
            let control_plane = self.plan.name.namespace(Place::Cluster(cluster.id));
            let processes = processes::in_namespace(&control_plane)?;
            let numbers = processes.iter().map(|process| process.pid);
            numbers.filter(|pid| processes::leads_session(*pid)).try_for_each(processes::prefer_session)?;
        }
        let cgroups = Cgroups::of_this_machine()?;
        for node in self.plan.clusters.iter().flat_map(|cluster| &cluster.nodes) {
            let (file, weight) = cgroups.preferred(&self.plan.name.cgroup(node.id));
            fs::write(&file, weight).with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(())
    }

    /// kubectl for one of its clusters.
    ///
    /// # Errors
    /// When there is no such cluster.
    pub fn kubectl(&self, cluster: ClusterId) -> Result<Kubectl> {
        self.plan.cluster(cluster)?;
        Ok(Kubectl::new(self.programs.path("kubectl")?, state::kubeconfig(&self.plan.name, cluster)))
    }

    fn build(&self, prepared: &Path, product: &Product) -> Result<()> {
        step("networks", || {
            topology::create(&self.plan).and_then(|()| outside::start(&self.programs, &self.plan))
        })?;
        all_at_once(&self.plan.clusters, |cluster| self.build_cluster(prepared, product, cluster)).map(|_| ())
    }

    fn build_cluster(&self, prepared: &Path, product: &Product, cluster: &ClusterPlan) -> Result<()> {
        let (id, name) = (cluster.id, &self.plan.name);
        let authority =
            step(&format!("control plane of {id}"), || control_plane::start(&self.programs, name, cluster))?;
        step(&format!("{} Node(s) of {id}", cluster.nodes.len()), || {
            all_at_once(&cluster.nodes, |node| {
                node::start(&self.programs, &authority, prepared, name, cluster, node)
            })?;
            PodCidrs::wait_for(&self.kubectl(id)?, cluster)?.route_from_control_plane(name, cluster)
        })?;
        self.install(product, cluster)
    }

    fn install(&self, product: &Product, cluster: &ClusterPlan) -> Result<()> {
        let (id, name, kubectl) = (cluster.id, &self.plan.name, self.kubectl(cluster.id)?);
        match cluster.install {
            Install::None => return Ok(()),
            Install::Bridge => step(&format!("bridge plugin in {id}"), || {
                bridge_network::install(name, cluster, &PodCidrs::wait_for(&kubectl, cluster)?)
            })?,
            Install::Antrea | Install::AntreaMc => {
                step(&format!("Antrea in {id}"), || {
                    install::antrea(&self.programs, &kubectl, cluster, product)
                })?;
            }
        }
        if cluster.install == Install::AntreaMc {
            step(&format!("Antrea Multi-cluster in {id}"), || {
                install::multicluster::beside_antrea(&self.programs, &kubectl, cluster, &product.multicluster)
            })?;
        }
        step(&format!("cluster DNS in {id}"), || {
            kubectl.wait("condition=Ready", 120, &["node", "--all"])?;
            // Not earlier: a Pod that the network refuses waits for half a minute before the kubelet tries again.
            kubectl.apply(&cluster_dns::manifest(cluster)?)?;
            kubectl.rollout("kube-system", "deployment/coredns", 120)
        })
    }
}

/// How many files of configuration and certificates may be watched by all programs together: 128 by default, which is
/// less than three clusters and another lab need. Beyond it API servers and kubelets log one error and never become ready.
const WATCHERS: (&str, u32) = ("/proc/sys/fs/inotify/max_user_instances", 1024);

/// How many bytes a socket holds whose program asks for no number, as Open vSwitch's userspace datapath does for those that
/// it reads packets from. By default these are about 250 packets: less than what comes to a Node of a busy lab while its
/// switch waits for a processor.
const RECEIVE_BUFFER: (&str, u32) = ("/proc/sys/net/core/rmem_default", 8 << 20);

/// Raises limits of the machine that are too low for several labs; nothing that needs less notices.
fn raise_limits() -> Result<()> {
    raise(WATCHERS)?;
    // Read-only in the network namespace of a container.
    if let Err(error) = raise(RECEIVE_BUFFER) {
        eprintln!("  switches will lose packets when this machine is busy: {error:#}");
    }
    Ok(())
}

fn raise((file, wanted): (&str, u32)) -> Result<()> {
    let found = fs::read_to_string(file).ok().and_then(|text| text.trim().parse::<u32>().ok());
    if found.is_some_and(|found| found < wanted) {
        fs::write(file, wanted.to_string()).with_context(|| format!("cannot write {file}"))?;
    }
    Ok(())
}

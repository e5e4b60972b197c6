//! The lab that something is measured on.

use antrea_e2e::admission;
use antrea_e2e::lab::{Lab, Lifetime};
use antrea_e2e::names::{ClusterId, LabName, NodeId};
use antrea_e2e::plan::{Families, Install, Request, ServiceProxy};
use anyhow::{Context, Result};

use crate::product::{self, FirstBuild};

/// A lab, removed at the end unless it was there before.
pub(super) struct Bench {
    lab: Lab,
    own: bool,
}

impl Bench {
    /// The lab of that name, or a new one of two Nodes with Antrea.
    pub(super) fn open(name: Option<&LabName>) -> Result<Self> {
        if let Some(name) = name {
            return Ok(Self { lab: Lab::open(name)?, own: false });
        }
        Self::of_its_own("bench", Install::Antrea)
    }

    /// A new lab of two Nodes.
    pub(super) fn of_its_own(name: &str, install: Install) -> Result<Self> {
        let request = Request {
            name: name.parse().context("the lab's name is wrong")?,
            clusters: 1,
            nodes: 2,
            families: Families::Ipv4,
            service_proxy: ServiceProxy::KubeProxy,
            install,
            settings: Vec::new(),
        };
        admission::check(&request, &product::needs(FirstBuild::Product))?;
        let product = product::build()?;
        Ok(Self { lab: Lab::up(&request, &product, Lifetime::OfThisProcess)?, own: true })
    }

    pub(super) fn lab(&self) -> &Lab {
        &self.lab
    }

    /// The Node that everything is measured on, and its cluster.
    pub(super) fn first_node(&self) -> Result<(ClusterId, NodeId)> {
        let cluster = self.lab.plan().clusters.first().context("the lab has no cluster")?;
        Ok((cluster.id, cluster.nodes.first().context("the cluster has no Node")?.id))
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if self.own
            && let Err(error) = self.lab.down()
        {
            eprintln!("The lab was not removed: {error:#}");
        }
    }
}

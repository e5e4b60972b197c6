//! The lab that something is measured on.

use antrea_e2e::admission;
use antrea_e2e::lab::{Lab, Lifetime};
use antrea_e2e::names::LabName;
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
        let request = Request {
            name: "bench".parse().context("the lab's name is wrong")?,
            clusters: 1,
            nodes: 2,
            families: Families::Ipv4,
            service_proxy: ServiceProxy::KubeProxy,
            install: Install::Antrea,
            settings: Vec::new(),
        };
        admission::check(&request, &product::needs(FirstBuild::Product))?;
        let product = product::build()?;
        Ok(Self { lab: Lab::up(&request, &product, Lifetime::OfThisProcess)?, own: true })
    }

    pub(super) fn lab(&self) -> &Lab {
        &self.lab
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

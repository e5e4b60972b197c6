//! The lab that a command works on: one that is there, or one that it makes and removes.

use antrea_e2e::admission;
use antrea_e2e::install::Product;
use antrea_e2e::lab::{Lab, Lifetime};
use antrea_e2e::names::{ClusterId, LabName, NodeId};
use antrea_e2e::plan::{Families, Install, Request};
use anyhow::{Context, Result};

use crate::product;

/// A lab, removed at the end unless it was there before.
pub struct OwnLab {
    lab: Lab,
    end: End,
}

/// What becomes of a lab with its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Stays,
    IsRemoved,
}

/// The lab to make where none is named.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Its name.
    pub name: &'static str,
    /// How many clusters it has.
    pub clusters: u8,
    /// How many Nodes each of them has.
    pub nodes: u8,
    /// What is installed.
    pub install: Install,
    /// Values of `--cluster`.
    pub settings: Vec<&'static str>,
}

impl Wanted {
    /// One cluster of two Nodes with Antrea.
    pub const fn antrea(name: &'static str) -> Self {
        Self { name, clusters: 1, nodes: 2, install: Install::Antrea, settings: Vec::new() }
    }

    /// Refuses what cannot be made here, before anything is built.
    pub fn check(&self) -> Result<()> {
        admission::check(&self.request()?)
    }

    pub fn request(&self) -> Result<Request> {
        let settings = self.settings.iter().map(|setting| setting.parse());
        Ok(Request {
            name: self.name.parse().context("the lab's name is wrong")?,
            clusters: self.clusters,
            nodes: self.nodes,
            families: Families::Ipv4,
            service_proxy: None,
            install: self.install,
            settings: settings.collect::<Result<_>>()?,
        })
    }
}

impl OwnLab {
    /// The lab of that name, or a new one.
    pub fn open(name: Option<&LabName>, wanted: &Wanted) -> Result<Self> {
        match name {
            Some(name) => Ok(Self { lab: Lab::open(name)?, end: End::Stays }),
            None => Self::make(wanted),
        }
    }

    /// A new lab.
    pub fn make(wanted: &Wanted) -> Result<Self> {
        wanted.check()?;
        let request = wanted.request()?;
        let product = match wanted.install {
            Install::Antrea | Install::AntreaMc => product::build(product::products(&request.plan(&[])?))?,
            Install::Bridge | Install::None => Product::default(),
        };
        Self::up(&request, &product)
    }

    /// A new lab, from a request in which everything is decided.
    pub fn up(request: &Request, product: &Product) -> Result<Self> {
        Ok(Self { lab: Lab::up(request, product, Lifetime::OfThisProcess)?, end: End::IsRemoved })
    }

    pub fn lab(&self) -> &Lab {
        &self.lab
    }

    /// The Node that everything is measured on, and its cluster.
    pub fn first_node(&self) -> Result<(ClusterId, NodeId)> {
        let cluster = self.lab.plan().clusters.first().context("the lab has no cluster")?;
        Ok((cluster.id, cluster.nodes.first().context("the cluster has no Node")?.id))
    }
}

impl Drop for OwnLab {
    fn drop(&mut self) {
        if self.end == End::IsRemoved
            && let Err(error) = self.lab.down()
        {
            eprintln!("The lab was not removed: {error:#}");
        }
    }
}

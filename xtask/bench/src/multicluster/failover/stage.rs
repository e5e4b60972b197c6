//! The lab: three clusters of two Nodes, of which two export Service `nginx`, which a Pod of the first asks.

use std::net::SocketAddr;

use antrea_e2e::admission;
use antrea_e2e::lab::Lab;
use antrea_e2e::multicluster::cluster_set::{self, Member};
use antrea_e2e::multicluster::gateways;
use antrea_e2e::multicluster::nginx::{self, Example};
use antrea_e2e::multicluster::requests::Requests;
use antrea_e2e::names::NodeId;
use anyhow::{Context, Result};

use xtask::image::Products;
use xtask::own_lab::OwnLab;
use xtask::product;

/// The clusters, and everybody on them.
pub(super) struct Stage {
    own: OwnLab,
    members: Vec<Member>,
    pub(super) example: Example,
}

impl Stage {
    /// A lab of its own: one without Nodes, as the rest of the area has it, has no Gateways.
    pub(super) fn up() -> Result<Self> {
        let request = nginx::request("failover".parse()?)?;
        admission::check(&request)?;
        let product = cluster_set::with_modes(product::build(Products::Both)?, request.clusters);
        let own = OwnLab::up(&request, &product)?;
        let members = cluster_set::members(own.lab(), &product)?;
        cluster_set::form(&members)?;
        let example = nginx::create(&members)?;
        example.wait_for_answers()?;
        Ok(Self { own, members, example })
    }

    pub(super) fn lab(&self) -> &Lab {
        self.own.lab()
    }

    /// It asks, and leads.
    pub(super) fn importer(&self) -> Result<&Member> {
        cluster_set::leader(&self.members)
    }

    /// One of those that are asked.
    pub(super) fn exporter(&self) -> Result<&Member> {
        let mut others = self.members.iter().filter(|member| member.cluster != cluster_set::LEADER);
        others.next().context("the lab has one cluster alone")
    }

    /// Requests that go on.
    pub(super) fn requests(&self) -> Result<Requests> {
        Requests::start(&self.example.client, SocketAddr::V4(self.example.imported))
    }

    /// Waits until a cluster has this Gateway alone, and the others know it.
    pub(super) fn wait_for_gateway(&self, member: &Member, node: NodeId) -> Result<()> {
        gateways::wait_for_gateway(self.lab().plan(), &self.members, member, node)
    }
}

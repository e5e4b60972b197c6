//! What goes on between Pods while something else happens: pings on a Node, pings in both families and a TCP
//! connection to another.

use anyhow::Result;

use crate::cluster::Cluster;
use crate::keep_alive::KeepAlive;
use crate::ping::{MORE, Outcome, Ping};

pub(crate) struct Talk {
    on_node: Ping,
    between_nodes: Vec<Ping>,
    connection: KeepAlive,
}

/// What became of the pings; the connection has lasted.
pub(crate) struct Outcomes {
    pub(crate) on_node: Outcome,
    pub(crate) between_nodes: Vec<Outcome>,
}

impl Outcomes {
    pub(crate) fn all(&self) -> impl Iterator<Item = &Outcome> {
        self.between_nodes.iter().chain([&self.on_node])
    }
}

impl Talk {
    pub(crate) fn start(cluster: &Cluster) -> Result<Self> {
        let (client, server) = (&cluster.client.name, &cluster.server);
        let between_nodes = server.addresses.iter().map(|to| Ping::start(client, *to));
        Ok(Self {
            on_node: Ping::start(client, cluster.neighbour.addresses[0])?,
            between_nodes: between_nodes.collect::<Result<_>>()?,
            connection: KeepAlive::start(client, &server.name, server.addresses[0])?,
        })
    }

    /// Waits until each ping has been answered more often.
    pub(crate) fn wait_for_answers(&self) -> Result<()> {
        self.between_nodes.iter().chain([&self.on_node]).try_for_each(|ping| ping.wait_for_answers(MORE))
    }

    /// Ends it after some more answers.
    pub(crate) fn stop(self) -> Result<Outcomes> {
        let longest = self.connection.stop()?;
        println!("an answer over TCP took {:.3} s at most", longest.as_secs_f32());
        let on_node = self.on_node.stop()?;
        let between_nodes = self.between_nodes.into_iter().map(Ping::stop).collect::<Result<Vec<_>>>()?;
        let outcomes = Outcomes { on_node, between_nodes };
        outcomes.all().for_each(|outcome| println!("{outcome}"));
        Ok(outcomes)
    }
}

//! The Nodes that Pods run on, numbered, in the order of their names.

use antrea_policy::Text;

use crate::intern::pool::{Hashed, Id, NodeId, Pool};

/// All Nodes that Pods name. They are held by Pods.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    pool: Pool<NodeId, Text>,
    /// By name. A Node that comes or goes costs as much as there are Nodes after it: that is rare.
    in_order: Vec<NodeId>,
    /// The place of each in there.
    ranks: Vec<Rank>,
}

/// The place of a Node in the order of names, until other Nodes come or go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(u32);

impl Nodes {
    pub(crate) fn len(&self) -> usize {
        self.pool.len()
    }

    /// A Node, with one hold more.
    pub(crate) fn hold(&mut self, name: &str) -> NodeId {
        let hash = self.pool.hash(name);
        let found = self.pool.find(hash, |other| other.as_str() == name);
        let id = found.unwrap_or_else(|| self.insert(hash, name));
        self.pool.hold(id);
        id
    }

    pub(crate) fn release(&mut self, id: NodeId) {
        if self.pool.release(id).is_some() {
            let at = self.ranks[id.index()].0 as usize;
            self.in_order.remove(at);
            self.rank_from(at);
        }
    }

    pub(crate) fn name(&self, id: NodeId) -> &Text {
        self.pool.get(id)
    }

    pub(crate) fn rank(&self, id: NodeId) -> Rank {
        self.ranks[id.index()]
    }

    pub(crate) fn at(&self, rank: Rank) -> &Text {
        self.name(self.in_order[rank.0 as usize])
    }

    fn insert(&mut self, hash: Hashed, name: &str) -> NodeId {
        let id = self.pool.insert(hash, name.into());
        let at = self.in_order.partition_point(|other| self.pool.get(*other).as_str() < name);
        self.in_order.insert(at, id);
        self.ranks.resize(self.ranks.len().max(id.index() + 1), Rank::default());
        self.rank_from(at);
        id
    }

    fn rank_from(&mut self, at: usize) {
        for (rank, id) in (0..).zip(&self.in_order).skip(at) {
            self.ranks[id.index()] = Rank(rank);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_in_the_order_of_their_names() {
        let mut nodes = Nodes::default();
        let check = |nodes: &Nodes, expected: &str| {
            let names: Vec<&str> = nodes.in_order.iter().map(|id| nodes.name(*id).as_str()).collect();
            assert_eq!(names.join(" "), expected);
            assert!(nodes.in_order.iter().all(|id| nodes.at(nodes.rank(*id)) == nodes.name(*id)));
        };
        let ids = ["c", "a", "d", "b", "a"].map(|name| nodes.hold(name));
        check(&nodes, "a b c d");
        nodes.release(ids[1]);
        nodes.release(ids[0]);
        check(&nodes, "a b d");
        nodes.release(ids[4]);
        assert_eq!(nodes.hold("e"), ids[1]);
        check(&nodes, "b d e");
    }
}

//! `memberlist`: which Nodes are alive, by gossip among the agents.

use crate::section::section;

section! {
    /// As it stands in the file.
    Memberlist {
        gossip_verify_outgoing: bool = "gossipVerifyOutgoing", true;
        gossip_verify_incoming: bool = "gossipVerifyIncoming", true;
    }
}

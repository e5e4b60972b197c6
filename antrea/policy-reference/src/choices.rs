//! Where readers of the API documentation may honestly disagree, as values.

/// Which reading a verdict takes; the default is the one of the crate's table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    pub own_node_egress: OwnNodeEgress,
    pub named_port_in_block: NamedPortInBlock,
}

/// What egress rules mean for a connection of a Pod to the Node it is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnNodeEgress {
    /// What they mean for any destination.
    #[default]
    Judged,
    /// Nothing: it is always admitted.
    Exempt,
}

/// What a port's name means in an egress rule for a Pod that is admitted by an `ipBlock`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NamedPortInBlock {
    /// The ports that the destination has by that name.
    #[default]
    OfDestination,
    /// No port: addresses have no names for ports. A rule without peers knows those of Pods that an empty
    /// `namespaceSelector` selects.
    Unknown,
}

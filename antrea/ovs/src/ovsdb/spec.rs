//! What bridges and ports shall be like.

use std::collections::BTreeMap;

use antrea_types::{MacAddr, OfPort};

use super::rows::Interface;

/// Where packets are switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatapathType {
    /// In the kernel.
    System,
    /// In ovs-vswitchd.
    Netdev,
}

impl DatapathType {
    /// As column `datapath_type` has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Netdev => "netdev",
        }
    }
}

/// A version of OpenFlow that a bridge speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// OpenFlow 1.0.
    OpenFlow10,
    /// OpenFlow 1.3.
    OpenFlow13,
    /// OpenFlow 1.5.
    OpenFlow15,
}

impl Protocol {
    /// As column `protocols` has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenFlow10 => "OpenFlow10",
            Self::OpenFlow13 => "OpenFlow13",
            Self::OpenFlow15 => "OpenFlow15",
        }
    }
}

/// What a bridge does with packets while nobody has told it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailMode {
    /// It learns addresses, as any switch does.
    Standalone,
    /// It drops them.
    Secure,
}

impl FailMode {
    /// As column `fail_mode` has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Standalone => "standalone",
            Self::Secure => "secure",
        }
    }
}

/// Whether the database lists the port that every bridge has of its own name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalPort {
    /// It does, as with `ovs-vsctl add-br`: for a bridge that carries an address of the host.
    Listed,
    /// It does not: nothing of the host uses the port.
    Unlisted,
}

/// A bridge as it shall be. Of the maps only the keys named here are touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BridgeSpec {
    /// The name.
    pub name: String,
    /// Where packets are switched.
    pub datapath_type: DatapathType,
    /// OpenFlow versions; none means the default of ovs-vswitchd.
    pub protocols: Vec<Protocol>,
    /// What it does while nobody has told it; none leaves what there is, at first standalone. OVS deletes all flows of
    /// the bridge when this changes.
    pub fail_mode: Option<FailMode>,
    /// Only looked at when the bridge is created.
    pub local_port: LocalPort,
    /// Notes.
    pub external_ids: BTreeMap<String, String>,
    /// Settings such as `hwaddr`.
    pub other_config: BTreeMap<String, String>,
}

impl BridgeSpec {
    /// A bridge of that name with defaults everywhere.
    pub fn new(name: impl Into<String>, datapath_type: DatapathType) -> Self {
        Self {
            name: name.into(),
            datapath_type,
            protocols: Vec::new(),
            fail_mode: None,
            local_port: LocalPort::Unlisted,
            external_ids: BTreeMap::new(),
            other_config: BTreeMap::new(),
        }
    }
}

/// What is behind a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InterfaceType {
    /// A network device of the host, such as one end of a veth pair.
    #[default]
    System,
    /// A network device that ovs-vswitchd makes.
    Internal,
    /// A Geneve tunnel (RFC 8926).
    Geneve,
    /// A VXLAN tunnel (RFC 7348).
    Vxlan,
    /// A GRE tunnel (RFC 2784).
    Gre,
}

impl InterfaceType {
    /// As column `type` has it; a device of the host has none.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "",
            Self::Internal => "internal",
            Self::Geneve => "geneve",
            Self::Vxlan => "vxlan",
            Self::Gre => "gre",
        }
    }

    /// Whether a row is of this type.
    pub fn is_of(self, interface: &Interface) -> bool {
        match self {
            Self::System => matches!(interface.interface_type.as_str(), "" | "system"),
            other => interface.interface_type == other.as_str(),
        }
    }
}

/// A port with one interface of the same name, as it shall be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortSpec {
    /// The name of both.
    pub name: String,
    /// What is behind it.
    pub interface_type: InterfaceType,
    /// The port number to ask for. ovs-vswitchd assigns another when that is taken.
    pub ofport_request: Option<OfPort>,
    /// Settings of a tunnel, all of them.
    pub options: BTreeMap<String, String>,
    /// The address of an internal interface; none leaves what there is.
    pub mac: Option<MacAddr>,
    /// The MTU; none leaves what there is.
    pub mtu_request: Option<u16>,
    /// Notes on the port's row, all of them.
    pub external_ids: BTreeMap<String, String>,
}

impl PortSpec {
    /// A port for a network device of the host.
    pub fn system(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// A port for an interface of that type.
    pub fn new(name: impl Into<String>, interface_type: InterfaceType) -> Self {
        Self { name: name.into(), interface_type, ..Self::default() }
    }
}

//! Table Interface: the network devices behind ports.

use std::collections::BTreeMap;

use antrea_types::{MacAddr, OfPort};

use super::row;

row! {
    /// A row of table Interface (ovs-vswitchd.conf.db(5)).
    Interface = "Interface" {
        /// The interface's name, unique and unchangeable.
        name: String = "name",
        /// `internal`, `geneve`, …; empty or `system` for a network device of the host.
        interface_type: String = "type",
        /// Settings of a tunnel.
        options: BTreeMap<String, String> = "options",
        /// The OpenFlow port number that is wanted.
        ofport_request: Option<i64> = "ofport_request",
        /// The OpenFlow port number that ovs-vswitchd assigned; -1 when it could not create the interface.
        ofport: Option<i64> = "ofport",
        /// The address that is wanted.
        mac: Option<MacAddr> = "mac",
        /// The address that the interface has.
        mac_in_use: Option<MacAddr> = "mac_in_use",
        /// The MTU that is wanted.
        mtu_request: Option<i64> = "mtu_request",
        /// The MTU that the interface has.
        mtu: Option<i64> = "mtu",
        /// Why ovs-vswitchd could not create the interface.
        error: Option<String> = "error",
        /// Notes of others.
        external_ids: BTreeMap<String, String> = "external_ids",
    }
}

impl Interface {
    /// The OpenFlow port number, once ovs-vswitchd has assigned one.
    pub fn of_port(&self) -> Option<OfPort> {
        self.ofport.and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0).map(OfPort)
    }

    /// The port numbers that it has, or asks for.
    pub fn numbers(&self) -> impl Iterator<Item = OfPort> {
        let asked = self.ofport_request.and_then(|number| u32::try_from(number).ok()).map(OfPort);
        self.of_port().into_iter().chain(asked)
    }
}

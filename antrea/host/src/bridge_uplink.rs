//! Moves addresses and routes of the transport interface to the bridge above it, and back. The decisions are in
//! `antrea_hostplan::desired_uplink` and `move_uplink`.
//!
//! 1. [`desired`] says what is to be moved. The caller records its text where it survives a restart.
//! 2. [`bring_to`] moves it. It may be killed at any point and repeated.

use antrea_hostplan::{NoUplinkAddresses, UplinkState, UplinkStep, desired_uplink, move_uplink};
use antrea_types::{InterfaceName, MacAddr};
use ipnet::IpNet;

use crate::netlink::LinkSettings;
use crate::{Netlink, NetlinkError};

/// The transport interface cannot be moved.
#[derive(Debug, thiserror::Error)]
pub enum UplinkError {
    /// The kernel cannot be asked.
    #[error("cannot read the state of the transport interface {interface}")]
    Read {
        /// The interface.
        interface: InterfaceName,
        /// Why.
        #[source]
        source: NetlinkError,
    },
    /// There is no address to move.
    #[error("there is nothing to move between the transport interface and its bridge")]
    NoAddresses(#[from] NoUplinkAddresses),
    /// A route has several next hops, which cannot be moved together. Nothing has been changed.
    #[error(
        "the route to {destination} has several next hops, one of them through the transport interface {interface}: \
         give it one next hop, or several routes with a metric each"
    )]
    Multipath {
        /// Where the route leads.
        destination: IpNet,
        /// The interface.
        interface: InterfaceName,
    },
    /// A step failed. Nothing is lost: the move can be repeated.
    #[error("cannot move the transport interface: `{step}` failed")]
    Step {
        /// The step.
        step: String,
        /// Why.
        #[source]
        source: NetlinkError,
    },
}

/// What an interface has that can move. Lifetimes of addresses and metrics of routes other than their preference do not
/// move: what moved stays until somebody takes it away.
///
/// # Errors
/// There is no such interface, one of its routes has several next hops, or the kernel cannot be asked.
pub async fn observe(netlink: &Netlink, interface: &InterfaceName) -> Result<UplinkState, UplinkError> {
    let read = async {
        let link = netlink.existing_link(interface).await?;
        let multipath = netlink.multipath_destinations(link.index).await?;
        let addresses = netlink.addresses(interface).await?;
        let routes = netlink.routes().await?;
        let mac = link.mac.unwrap_or(MacAddr([0; 6]));
        Ok((UplinkState::new(link.name, mac, link.mtu, addresses, routes), multipath))
    };
    let (state, multipath) =
        read.await.map_err(|source| UplinkError::Read { interface: interface.clone(), source })?;
    match multipath.first() {
        Some(destination) => {
            Err(UplinkError::Multipath { destination: *destination, interface: interface.clone() })
        }
        None => Ok(state),
    }
}

/// What the transport interface, or the bridge in its place, is to have.
///
/// # Errors
/// One of the two does not exist, or no address is found anywhere.
pub async fn desired(
    netlink: &Netlink,
    uplink: &InterfaceName,
    bridge: &InterfaceName,
    recorded: Option<&UplinkState>,
) -> Result<UplinkState, UplinkError> {
    let (of_uplink, of_bridge) = (observe(netlink, uplink).await?, observe(netlink, bridge).await?);
    Ok(desired_uplink(recorded, &of_uplink, &of_bridge)?)
}

/// Brings the desired addresses and routes onto `to`, and takes what `from` has off it. Returns the steps that it took.
///
/// # Errors
/// The first step that fails. Nothing is taken from `from` before `to` has all of it.
pub async fn bring_to(
    netlink: &Netlink,
    desired: &UplinkState,
    from: &InterfaceName,
    to: &InterfaceName,
) -> Result<Vec<UplinkStep>, UplinkError> {
    let (source, target) = (observe(netlink, from).await?, observe(netlink, to).await?);
    let steps = move_uplink(desired, &source, &target);
    for step in &steps {
        take(netlink, step).await.map_err(|source| UplinkError::Step { step: step.to_string(), source })?;
    }
    Ok(steps)
}

async fn take(netlink: &Netlink, step: &UplinkStep) -> Result<(), NetlinkError> {
    match step {
        UplinkStep::SetUp(interface) => netlink.ensure_link(interface, &LinkSettings::up()).await.map(drop),
        UplinkStep::AddAddress(interface, address) => {
            netlink.ensure_address(interface, address).await.map(drop)
        }
        UplinkStep::SetRoute(route) => netlink.set_route(route).await,
        UplinkStep::DeleteRoute(route) => netlink.delete_route(route).await.map(drop),
        UplinkStep::DeleteAddress(interface, address) => {
            netlink.delete_address(interface, address).await.map(drop)
        }
    }
}

//! Permanent neighbours.

use std::net::IpAddr;

use antrea_hostplan::{Changes, Neighbour, neighbour_changes};
use antrea_types::{InterfaceName, IpFamily, MacAddr};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::RouteType;
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::{Netlink, NetlinkError};
use crate::Outcome;

impl Netlink {
    /// All permanent neighbours, sorted.
    ///
    /// # Errors
    /// The kernel cannot be asked.
    pub async fn neighbours(&self) -> Result<Vec<Neighbour>, NetlinkError> {
        let names = self.link_names().await?;
        let request = RouteNetlinkMessage::GetNeighbour(NeighbourMessage::default());
        let answers = self.dump(request, || "list neighbours".to_owned()).await?;
        let read = |answer| read_neighbour(answer, |index| names.get(&index).cloned());
        let mut neighbours: Vec<Neighbour> = answers.into_iter().filter_map(read).collect();
        neighbours.sort();
        Ok(neighbours)
    }

    /// Sets a permanent neighbour unless it is there as it should be.
    ///
    /// # Errors
    /// There is no such interface, or the kernel refuses.
    pub async fn ensure_neighbour(&self, neighbour: &Neighbour) -> Result<Outcome, NetlinkError> {
        if self.neighbours().await?.contains(neighbour) {
            return Ok(Outcome::Unchanged);
        }
        self.set_neighbour(neighbour).await?;
        Ok(Outcome::Changed)
    }

    /// Sets a permanent neighbour, in the place of what is known of its address.
    ///
    /// # Errors
    /// There is no such interface, or the kernel refuses.
    pub async fn set_neighbour(&self, neighbour: &Neighbour) -> Result<(), NetlinkError> {
        let index = self.existing_link(&neighbour.device).await?.index;
        let message = RouteNetlinkMessage::NewNeighbour(neighbour_message(index, neighbour));
        self.execute(message, NLM_F_CREATE | NLM_F_REPLACE, || format!("set the neighbour {neighbour}")).await
    }

    /// Deletes a neighbour, if it is there.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn delete_neighbour(&self, neighbour: &Neighbour) -> Result<Outcome, NetlinkError> {
        let Some(link) = self.link(&neighbour.device).await? else { return Ok(Outcome::Unchanged) };
        let message = RouteNetlinkMessage::DelNeighbour(neighbour_message(link.index, neighbour));
        match self.execute(message, 0, || format!("delete the neighbour {neighbour}")).await {
            Ok(()) => Ok(Outcome::Changed),
            Err(error) if error.is_absent() => Ok(Outcome::Unchanged),
            Err(error) => Err(error),
        }
    }

    /// Makes the permanent neighbours that are `owned` be exactly the desired ones, and returns what had to be changed.
    /// One that the kernel refuses keeps none of the others back.
    ///
    /// # Errors
    /// The first change that failed.
    pub async fn sync_neighbours(
        &self,
        desired: &[Neighbour],
        owned: impl Fn(&Neighbour) -> bool,
    ) -> Result<Changes<Neighbour>, NetlinkError> {
        let mut current = self.neighbours().await?;
        current.retain(|neighbour| owned(neighbour));
        let changes = neighbour_changes(desired, &current);
        self.change_neighbours(&changes).await.map(|()| changes)
    }

    /// Sets permanent neighbours, then deletes others. One that the kernel refuses keeps none of the others back.
    ///
    /// # Errors
    /// The first change that failed.
    pub async fn change_neighbours(&self, changes: &Changes<Neighbour>) -> Result<(), NetlinkError> {
        let mut outcome = Ok(());
        for neighbour in &changes.set {
            outcome = outcome.and(self.set_neighbour(neighbour).await);
        }
        for neighbour in &changes.delete {
            outcome = outcome.and(self.delete_neighbour(neighbour).await.map(drop));
        }
        outcome
    }
}

fn neighbour_message(index: u32, neighbour: &Neighbour) -> NeighbourMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = match IpFamily::of(&neighbour.ip) {
        IpFamily::V4 => AddressFamily::Inet,
        IpFamily::V6 => AddressFamily::Inet6,
    };
    message.header.ifindex = index;
    message.header.state = NeighbourState::Permanent;
    message.header.kind = RouteType::Unicast;
    message.attributes = vec![
        NeighbourAttribute::Destination(neighbour.ip.into()),
        NeighbourAttribute::LinkLayerAddress(neighbour.mac.octets().to_vec()),
    ];
    message
}

fn read_neighbour(
    message: RouteNetlinkMessage,
    name_of: impl Fn(u32) -> Option<InterfaceName>,
) -> Option<Neighbour> {
    let RouteNetlinkMessage::NewNeighbour(message) = message else { return None };
    if message.header.state != NeighbourState::Permanent {
        return None;
    }
    let (mut ip, mut mac): (Option<IpAddr>, _) = (None, None);
    for attribute in message.attributes {
        match attribute {
            NeighbourAttribute::Destination(NeighbourAddress::Inet(address)) => ip = Some(address.into()),
            NeighbourAttribute::Destination(NeighbourAddress::Inet6(address)) => ip = Some(address.into()),
            NeighbourAttribute::LinkLayerAddress(octets) => {
                mac = <[u8; 6]>::try_from(octets).ok().map(MacAddr);
            }
            _ => {}
        }
    }
    Some(Neighbour { ip: ip?, device: name_of(message.header.ifindex)?, mac: mac? })
}

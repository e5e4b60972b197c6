//! What a rule's services come to: by number at once, by name for each Pod that has a port of that name.

use std::collections::{BTreeMap, BTreeSet};

use antrea_pipeline::policy::{PortRange, Ports, Service, Services};
use antrea_shared_api::controlplane::v1beta2 as api;
use antrea_shared_api::controlplane::v1beta2::GroupMember;
use antrea_types::Protocol;

use crate::Problem;

/// The services of a rule.
#[derive(Debug)]
pub(crate) enum Wanted {
    /// All.
    Any,
    /// These.
    These {
        /// By number.
        numbered: BTreeSet<Service>,
        /// By the name that the destination gives to a port.
        named: BTreeSet<(Protocol, String)>,
    },
}

/// One of them.
enum Asked {
    Numbered(Service),
    Named(Protocol, String),
}

impl Wanted {
    /// What cannot be matched is left out, and thereby not admitted; why is added to `problems`.
    pub(crate) fn of(services: &[api::Service], problems: &mut BTreeSet<Problem>) -> Self {
        if services.is_empty() {
            return Self::Any;
        }
        let (mut numbered, mut named) = (BTreeSet::new(), BTreeSet::new());
        for service in services {
            match read(service) {
                Ok(Asked::Numbered(service)) => _ = numbered.insert(service),
                Ok(Asked::Named(protocol, name)) => _ = named.insert((protocol, name)),
                Err(problem) => _ = problems.insert(problem),
            }
        }
        Self::These { numbered, named }
    }

    /// Those by number: all that there are for who has no ports with names, as networks have none.
    pub(crate) fn numbered(&self) -> Services {
        match self {
            Self::Any => Services::Any,
            Self::These { numbered, .. } => Services::Only(numbered.clone()),
        }
    }

    /// Members, by the services that they have.
    pub(crate) fn split<'a>(
        &self,
        members: impl Iterator<Item = &'a GroupMember>,
    ) -> BTreeMap<Services, Vec<&'a GroupMember>> {
        let named = match self {
            Self::These { named, .. } if !named.is_empty() => named,
            _ => return BTreeMap::from([(self.numbered(), members.collect())]),
        };
        let mut split: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for member in members {
            split.entry(self.of_member(named, member)).or_default().push(member);
        }
        split
    }

    fn of_member(&self, named: &BTreeSet<(Protocol, String)>, member: &GroupMember) -> Services {
        let Services::Only(mut services) = self.numbered() else { return Services::Any };
        for port in &member.ports {
            let Ok(protocol) = protocol(port.protocol) else { continue };
            if named.iter().any(|(wanted, name)| *wanted == protocol && *name == port.name) {
                services.insert(Service { protocol, ports: Ports::Range(port.port.into()) });
            }
        }
        Services::Only(services)
    }
}

fn read(service: &api::Service) -> Result<Asked, Problem> {
    let protocol = protocol(service.protocol.unwrap_or(api::Protocol::Tcp))?;
    if service.src_port.is_some() || service.src_end_port.is_some() {
        return Err(Problem::SourcePort);
    }
    let ports = match (&service.port, service.end_port) {
        (None, None) => Ports::Any,
        (Some(api::Port::Number(port)), None) => Ports::Range((*port).into()),
        (Some(api::Port::Number(first)), Some(last)) => Ports::Range(range(*first, last)?),
        (Some(api::Port::Name(name)), None) => return Ok(Asked::Named(protocol, name.clone())),
        (_, Some(last)) => return Err(Problem::EndPort(last)),
    };
    Ok(Asked::Numbered(Service { protocol, ports }))
}

fn range(first: u16, last: u16) -> Result<PortRange, Problem> {
    PortRange::new(first, last).map_err(|_| Problem::PortRange { first, last })
}

const fn protocol(protocol: api::Protocol) -> Result<Protocol, Problem> {
    match protocol {
        api::Protocol::Tcp => Ok(Protocol::Tcp),
        api::Protocol::Udp => Ok(Protocol::Udp),
        api::Protocol::Sctp => Ok(Protocol::Sctp),
        api::Protocol::Icmp | api::Protocol::Igmp => Err(Problem::Protocol(protocol)),
    }
}

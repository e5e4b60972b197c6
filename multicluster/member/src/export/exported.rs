//! What the Gateways of this cluster let other clusters in to: the addresses of what is exported.
//!
//! It is kept for each Service as it changes, and written to the Gateways at most once a second. What other clusters are to
//! reach is let in before they hear of it; what they are not to reach any more stays open until they have heard of that.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::Duration;

use antrea_shared_api::multicluster::well_known::MOST_EXPORTED_ADDRESSES;
use ipnet::{IpNet, Ipv4Net};

/// How long other clusters may still connect to what is not exported any more.
const PATIENCE: Duration = Duration::from_secs(15);

/// How long a change waits that follows another one: every agent of the cluster reads what is written.
const PAUSE: Duration = Duration::from_secs(1);

/// A Service, by Namespace and name.
pub(super) type ServiceName = (String, String);

/// Where a Service is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reached {
    /// The addresses; none where it is not exported.
    pub(super) addresses: BTreeSet<Ipv4Addr>,
    /// When its ServiceExport was created.
    pub(super) since: String,
}

/// What a Gateway has room to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fitting {
    /// The networks that it lists. No address is in them that is not exported.
    pub(super) listed: BTreeSet<Ipv4Net>,
    /// The Services of which not all is listed.
    pub(super) left_out: BTreeSet<ServiceName>,
}

impl Fitting {
    /// Of what is exported, and of what still is for a moment. Where it does not fit, what has been exported for longest goes
    /// first.
    pub(super) fn of(
        services: &BTreeMap<ServiceName, Reached>,
        leaving: impl Iterator<Item = Ipv4Net> + Clone,
    ) -> Self {
        let addresses = services.values().flat_map(|of| &of.addresses).copied().map(Ipv4Net::from);
        let all: BTreeSet<Ipv4Net> = addresses.chain(leaving.clone()).collect();
        if all.len() <= MOST_EXPORTED_ADDRESSES {
            return Self { listed: all, left_out: BTreeSet::new() };
        }
        let joined = Ipv4Net::aggregate(&all.into_iter().collect::<Vec<_>>());
        if joined.len() <= MOST_EXPORTED_ADDRESSES {
            return Self { listed: joined.into_iter().collect(), left_out: BTreeSet::new() };
        }
        Self::oldest(services, leaving)
    }

    fn oldest(services: &BTreeMap<ServiceName, Reached>, leaving: impl Iterator<Item = Ipv4Net>) -> Self {
        let mut by_age: Vec<(&ServiceName, &Reached)> = services.iter().collect();
        by_age.sort_by_key(|(name, of)| (of.since.as_str(), *name));
        let mut fitting = Self::default();
        for (name, of) in by_age {
            let listed = of.addresses.iter().filter(|address| fitting.list(Ipv4Net::from(**address))).count();
            if listed < of.addresses.len() {
                fitting.left_out.insert(name.clone());
            }
        }
        for network in leaving {
            fitting.list(network);
        }
        fitting
    }

    /// Whether a network is listed now.
    fn list(&mut self, network: Ipv4Net) -> bool {
        let has_room = self.listed.len() < MOST_EXPORTED_ADDRESSES;
        self.listed.contains(&network) || (has_room && self.listed.insert(network))
    }
}

/// What is exported, and what the Gateways are to say of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Where each Service is reached; nothing before all objects are known.
    services: Option<BTreeMap<ServiceName, Reached>>,
    /// How many Services are reached at an address.
    shares: BTreeMap<Ipv4Addr, usize>,
    /// What is exported no more, and until when it is let in.
    leaving: BTreeMap<Ipv4Net, Duration>,
    /// The same by time.
    ends: BTreeSet<(Duration, Ipv4Net)>,
    /// The networks of Pods that Nodes named when these were looked at last.
    nodes: Vec<IpNet>,
    /// What the Gateways are to say.
    fitting: Fitting,
    /// The Services of which that has become another part.
    moved: BTreeSet<ServiceName>,
    /// Whether that has changed since.
    is_outdated: bool,
    /// When it may be told.
    next: Duration,
}

impl Exported {
    /// Whether all objects have been looked at.
    pub(super) const fn is_known(&self) -> bool {
        self.services.is_some()
    }

    /// What the Gateways are to say; nothing before all objects have been looked at.
    pub(super) fn fitting(&self) -> Option<&Fitting> {
        self.services.as_ref().map(|_| &self.fitting)
    }

    /// The Services of which there is or was no room for all, since this was asked last.
    pub(super) fn take_moved(&mut self) -> BTreeSet<ServiceName> {
        std::mem::take(&mut self.moved)
    }

    /// All objects have been looked at. What `told`, the Gateways' lists of an earlier process, has beyond them goes as what
    /// is exported no more.
    pub(super) fn begin(
        &mut self,
        services: BTreeMap<ServiceName, Reached>,
        told: &BTreeSet<Ipv4Net>,
        now: Duration,
    ) {
        self.services = Some(BTreeMap::new());
        for (name, reached) in services {
            self.set(name, reached, now);
        }
        let exported = networks(&self.shares);
        for network in told.difference(&exported) {
            self.leave(*network, now);
        }
        (self.is_outdated, self.next) = (true, now);
    }

    /// Whether Nodes name other networks than when this was asked last: Pods are reached in others then.
    pub(super) fn moves(&mut self, nodes: &[IpNet]) -> bool {
        let moves = self.nodes != nodes;
        if moves {
            self.nodes = nodes.to_vec();
        }
        moves
    }

    /// This is where a Service is reached at `now`.
    pub(super) fn set(&mut self, name: ServiceName, reached: Reached, now: Duration) {
        let Some(services) = &mut self.services else { return };
        let addresses = reached.addresses.clone();
        let is_another = services.get(&name).is_some_and(|before| before.since != reached.since);
        self.is_outdated |= is_another && !addresses.is_empty();
        let before = match addresses.is_empty() {
            true => services.remove(&name),
            false => services.insert(name, reached),
        };
        let before = before.unwrap_or_default().addresses;
        addresses.difference(&before).for_each(|address| self.add(*address));
        before.difference(&addresses).for_each(|address| self.take(*address, now));
    }

    fn add(&mut self, address: Ipv4Addr) {
        let shares = self.shares.entry(address).or_default();
        *shares += 1;
        if *shares > 1 {
            return;
        }
        let network = Ipv4Net::from(address);
        match self.leaving.remove(&network) {
            // It is still let in.
            Some(until) => {
                self.ends.remove(&(until, network));
            }
            None => self.is_outdated = true,
        }
    }

    fn take(&mut self, address: Ipv4Addr, now: Duration) {
        let Some(shares) = self.shares.get_mut(&address) else { return };
        *shares -= 1;
        if *shares == 0 {
            self.shares.remove(&address);
            self.leave(address.into(), now);
        }
    }

    fn leave(&mut self, network: Ipv4Net, now: Duration) {
        let until = now + PATIENCE;
        self.leaving.insert(network, until);
        self.ends.insert((until, network));
    }

    /// Takes in the time. Whether Gateways are to say something else now.
    pub(super) fn tick(&mut self, now: Duration) -> bool {
        while let Some((until, network)) = self.ends.first().copied().filter(|(until, _)| *until <= now) {
            self.ends.remove(&(until, network));
            self.leaving.remove(&network);
            self.is_outdated = true;
        }
        if !self.is_outdated || now < self.next {
            return false;
        }
        (self.is_outdated, self.next) = (false, now + PAUSE);
        let Some(services) = &self.services else { return false };
        let fitting = Fitting::of(services, self.leaving.keys().copied());
        let changed = fitting.listed != self.fitting.listed;
        self.moved.extend(fitting.left_out.symmetric_difference(&self.fitting.left_out).cloned());
        self.fitting = fitting;
        changed
    }

    /// When to look at the time again.
    pub(super) fn again(&self) -> Option<Duration> {
        let end = self.ends.first().map(|(until, _)| *until);
        end.into_iter().chain(self.is_outdated.then_some(self.next)).min()
    }
}

fn networks(shares: &BTreeMap<Ipv4Addr, usize>) -> BTreeSet<Ipv4Net> {
    shares.keys().copied().map(Ipv4Net::from).collect()
}

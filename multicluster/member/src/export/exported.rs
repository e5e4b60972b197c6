//! What the Gateways of this cluster let other clusters in to: the addresses of what is exported.
//!
//! It is kept for each Service as it changes. Other clusters hear of nothing that the Gateways are not to let in, but for the
//! endpoints of a Service that has others than before at a stroke; what they are not to reach any more stays open until they
//! have heard of that.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use antrea_shared_api::multicluster::well_known::MOST_EXPORTED_ADDRESSES;
use ipnet::{IpNet, Ipv4Net};

use super::network_set::NetworkSet;

/// How long other clusters may still connect to what is not exported any more.
const PATIENCE: Duration = Duration::from_secs(15);

/// How long a change waits that follows another one: every agent of the cluster reads what is written.
const PAUSE: Duration = Duration::from_secs(1);

/// The same of what is new, which others wait for, while there is not much to read.
const SHORT_PAUSE: Duration = Duration::from_millis(100);
const FEW: usize = 256;

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

/// What is exported no more, and still open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leaving {
    /// Until when.
    until: Duration,
    /// The Service that it was an address of last; nothing where an earlier process listed it.
    of: Option<ServiceName>,
}

/// What a Gateway has room to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fitting {
    /// The networks that it lists. No address is in them that is not exported.
    pub(super) listed: NetworkSet,
    /// The addresses of Services that are not listed.
    pub(super) left_out: BTreeMap<ServiceName, BTreeSet<Ipv4Addr>>,
}

impl Fitting {
    /// Of what is exported, and of what still is for a moment. Where it does not fit, what is `listed` already goes first, so
    /// that nothing that is new, or grows, closes it; then what has been exported for longest.
    pub(super) fn of(
        services: &BTreeMap<ServiceName, Reached>,
        leaving: &BTreeMap<Ipv4Net, Leaving>,
        listed: &NetworkSet,
    ) -> Self {
        let addresses = services.values().flat_map(|of| &of.addresses).copied().map(Ipv4Net::from);
        let all = NetworkSet::of(&addresses.chain(leaving.keys().copied()).collect());
        if all.len() <= MOST_EXPORTED_ADDRESSES {
            return Self { listed: all, left_out: BTreeMap::new() };
        }
        let joined = NetworkSet::joined(all.iter().copied());
        if joined.len() <= MOST_EXPORTED_ADDRESSES {
            return Self { listed: joined, left_out: BTreeMap::new() };
        }
        Self::bounded(services, leaving, listed)
    }

    fn bounded(
        services: &BTreeMap<ServiceName, Reached>,
        leaving: &BTreeMap<Ipv4Net, Leaving>,
        listed: &NetworkSet,
    ) -> Self {
        let mut by_age: Vec<(&ServiceName, &Reached)> = services.iter().collect();
        by_age.sort_by_key(|(name, of)| (of.since.as_str(), *name));
        let mut fitting = Self::of_listed(&by_age, listed);
        fitting.replace(&by_age, leaving, listed);
        for (name, of) in by_age {
            let left_out = of.addresses.iter().filter(|address| !fitting.list(Ipv4Net::from(**address)));
            let left_out: BTreeSet<Ipv4Addr> = left_out.copied().collect();
            if !left_out.is_empty() {
                fitting.left_out.insert(name.clone(), left_out);
            }
        }
        for network in leaving.keys() {
            fitting.list(*network);
        }
        fitting
    }

    /// What goes leaves its room to other addresses of its Service. It keeps it while there are none: a Pod may be replaced, or an
    /// export made again.
    fn replace(
        &mut self,
        by_age: &[(&ServiceName, &Reached)],
        leaving: &BTreeMap<Ipv4Net, Leaving>,
        listed: &NetworkSet,
    ) {
        let lacks = |address: &&Ipv4Addr| !self.listed.has(Ipv4Net::from(**address));
        let waiting = by_age.iter().map(|(name, of)| (*name, of.addresses.iter().filter(lacks).collect()));
        let waiting: BTreeMap<&ServiceName, Vec<&Ipv4Addr>> = waiting.collect();
        let mut replacements = BTreeMap::new();
        for (network, of) in leaving.iter().filter(|(network, _)| listed.has(**network)) {
            let of = of.of.as_ref().and_then(|of| waiting.get_key_value(of));
            let next = of.and_then(|(of, waiting)| {
                let next = replacements.entry(*of).or_insert_with(|| waiting.iter());
                next.next().map(|address| Ipv4Net::from(**address))
            });
            self.list(next.unwrap_or(*network));
        }
    }

    /// What is listed already and is exported still. Where something has gone from the middle of networks, more of them may be
    /// left than there is room for.
    fn of_listed(by_age: &[(&ServiceName, &Reached)], listed: &NetworkSet) -> Self {
        let addresses = by_age.iter().flat_map(|(_, of)| &of.addresses).copied().map(Ipv4Net::from);
        let stays: Vec<Ipv4Net> = addresses.filter(|network| listed.has(*network)).collect();
        let mut fitting =
            Self { listed: NetworkSet::joined(stays.iter().copied()), left_out: BTreeMap::new() };
        if fitting.listed.len() > MOST_EXPORTED_ADDRESSES {
            fitting.listed = NetworkSet::default();
            for network in stays {
                fitting.list(network);
            }
        }
        fitting
    }

    /// Whether a network is listed now.
    fn list(&mut self, network: Ipv4Net) -> bool {
        self.listed.join(network, MOST_EXPORTED_ADDRESSES)
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
    leaving: BTreeMap<Ipv4Net, Leaving>,
    /// The same by time.
    ends: BTreeSet<(Duration, Ipv4Net)>,
    /// The networks of Pods that Nodes named when these were looked at last.
    nodes: Vec<IpNet>,
    /// What the Gateways are to say.
    fitting: Fitting,
    /// Since when.
    since: Duration,
    /// When that is looked at again; nothing where it is what it has to be.
    due: Option<Duration>,
    /// Services with addresses that nobody has looked at for it.
    pending: BTreeSet<ServiceName>,
    /// Services of which Gateways list more or less since this was asked last.
    moved: BTreeSet<ServiceName>,
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

    /// Whether it is not known yet if a Service will be let in to at all its addresses.
    pub(super) fn is_pending(&self, name: &ServiceName) -> bool {
        self.pending.contains(name)
    }

    /// Whether Gateways are to let others in to an address; nothing is known before all objects have been looked at.
    pub(super) fn lets_in(&self, address: IpAddr) -> bool {
        match (address, self.fitting()) {
            (IpAddr::V4(address), Some(fitting)) => fitting.listed.has(address.into()),
            // Between clusters there is IPv4 alone.
            (IpAddr::V6(_), _) | (_, None) => true,
        }
    }

    /// Whether Gateways list all that is exported.
    pub(super) fn has_room(&self) -> bool {
        self.fitting.left_out.is_empty()
    }

    /// The Services of which Gateways list more or less since this was asked last.
    pub(super) fn take_moved(&mut self) -> BTreeSet<ServiceName> {
        std::mem::take(&mut self.moved)
    }

    /// All objects have been looked at. `told`, the Gateways' lists of an earlier process, is what is listed; what it has beyond
    /// them goes as what is exported no more.
    pub(super) fn begin(
        &mut self,
        services: BTreeMap<ServiceName, Reached>,
        told: &BTreeSet<Ipv4Net>,
        now: Duration,
    ) {
        self.services = Some(BTreeMap::new());
        for (name, reached) in services {
            self.set(&name, reached, now);
        }
        let exported = networks(&self.shares);
        for network in told.difference(&exported) {
            self.leave(*network, None, now);
        }
        self.fitting.listed = NetworkSet::of(told);
        self.pending.clear();
        self.due = Some(now);
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
    pub(super) fn set(&mut self, name: &ServiceName, reached: Reached, now: Duration) {
        let Some(services) = &mut self.services else { return };
        let addresses = reached.addresses.clone();
        let is_another = services.get(name).is_some_and(|before| before.since != reached.since);
        let before = match addresses.is_empty() {
            true => services.remove(name),
            false => services.insert(name.clone(), reached),
        };
        let before = before.unwrap_or_default().addresses;
        let new = addresses.difference(&before).filter(|address| self.add(**address)).count();
        let is_new = new > 0;
        if is_new {
            self.pending.insert(name.clone());
        } else if addresses.is_empty() {
            self.pending.remove(name);
        }
        if is_new || (is_another && !addresses.is_empty()) {
            let pause = if self.fitting.listed.len() <= FEW { SHORT_PAUSE } else { PAUSE };
            self.look_after(pause);
        }
        // What has gone leaves its room to what waits for it.
        if self.fitting.left_out.contains_key(name) && !before.is_subset(&addresses) {
            self.look_after(PAUSE);
        }
        before.difference(&addresses).for_each(|address| self.take(*address, name, now));
    }

    /// Whether Gateways have to be told of it.
    fn add(&mut self, address: Ipv4Addr) -> bool {
        let shares = self.shares.entry(address).or_default();
        *shares += 1;
        let network = Ipv4Net::from(address);
        if let Some(leaving) = self.leaving.remove(&network) {
            self.ends.remove(&(leaving.until, network));
        }
        !self.fitting.listed.has(network)
    }

    /// What the Gateways are to say is looked at again so long after the last time.
    fn look_after(&mut self, pause: Duration) {
        let due = self.since + pause;
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
    }

    fn take(&mut self, address: Ipv4Addr, of: &ServiceName, now: Duration) {
        let Some(shares) = self.shares.get_mut(&address) else { return };
        *shares -= 1;
        if *shares == 0 {
            self.shares.remove(&address);
            self.leave(address.into(), Some(of.clone()), now);
        }
    }

    fn leave(&mut self, network: Ipv4Net, of: Option<ServiceName>, now: Duration) {
        let until = now + PATIENCE;
        self.leaving.insert(network, Leaving { until, of });
        self.ends.insert((until, network));
    }

    /// Takes in the time. Whether Gateways are to say something else now.
    pub(super) fn tick(&mut self, now: Duration) -> bool {
        while let Some((until, network)) = self.ends.first().copied().filter(|(until, _)| *until <= now) {
            self.ends.remove(&(until, network));
            self.leaving.remove(&network);
            self.look_after(PAUSE);
        }
        let Some(services) = self.services.as_ref().filter(|_| self.due.is_some_and(|due| due <= now)) else {
            return false;
        };
        let fitting = Fitting::of(services, &self.leaving, &self.fitting.listed);
        (self.due, self.since) = (None, now);
        let changed = fitting.listed != self.fitting.listed;
        let (before, after) = (&self.fitting.left_out, &fitting.left_out);
        let moved = before.keys().chain(after.keys()).filter(|name| before.get(*name) != after.get(*name));
        self.moved.extend(moved.cloned());
        self.moved.append(&mut self.pending);
        self.fitting = fitting;
        changed
    }

    /// When to look at the time again.
    pub(super) fn again(&self) -> Option<Duration> {
        let end = self.ends.first().map(|(until, _)| *until);
        end.into_iter().chain(self.due).min()
    }
}

fn networks(shares: &BTreeMap<Ipv4Addr, usize>) -> BTreeSet<Ipv4Net> {
    shares.keys().copied().map(Ipv4Net::from).collect()
}

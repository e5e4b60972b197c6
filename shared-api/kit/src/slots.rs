//! Who has the connections of a server, and who gives way: a table of values, without a socket.
//!
//! Handshakes, anonymous clients, admitted clients and clients on this machine have slots of their own, so that none of
//! them can take those of another. Every new connection gets a slot. A source that has its share, or a holder (a user on one Node)
//! among admitted clients, gives up one of its own connections. Otherwise, when the kind is full, the one with the most gives one
//! up; those that tie count as one.
//!
//! An idle connection goes first. Without one, the larger of two groups, the silent and the busy, loses its oldest connection; if
//! they are equal, the silent group does. So no silent crowd pushes out a few busy connections, and no busy crowd a few silent ones.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use crate::auth::Holder;

/// How many connections of each kind there are at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// In their TLS handshake.
    pub handshakes: usize,
    /// Of clients that have not been allowed anything: nobody who asks for health says who they are.
    pub anonymous: usize,
    /// Of clients that were allowed something. No client that was not closes theirs; one with more than its share closes its own.
    pub admitted: usize,
    /// Of clients on this machine: probes are served whatever happens to the others.
    pub loopback: usize,
}

/// One host holds no more anonymous connections than this, however many slots there are: it costs the server no more memory where
/// many hosts have to fit.
const ANONYMOUS_OF_ONE_SOURCE: usize = 256;

/// The same in their handshake, a message of which may have 64 KiB.
const HANDSHAKES_OF_ONE_SOURCE: usize = 512;

/// A user on one Node holds no more admitted connections than this. An agent needs one or two: a token that was stolen from it fills
/// the server with no more.
const ADMITTED_OF_ONE_HOLDER: usize = 16;

/// Where connections come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// This machine, as its programs and the kubelet ask: `127.0.0.1` or `::1`.
    Loopback,
    /// An IPv4 address, or the /64 of an IPv6 address: one host has all of it.
    Host(IpAddr),
}

impl Source {
    pub(crate) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(Ipv4Addr::LOCALHOST) | IpAddr::V6(Ipv6Addr::LOCALHOST) => Self::Loopback,
            IpAddr::V6(address) => {
                Self::Host(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into())
            }
            address => Self::Host(address),
        }
    }
}

/// Whose connections share slots.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sharer {
    /// Those from one place.
    Source(Source),
    /// Those of somebody who was allowed something, wherever they are.
    Holder(Arc<Holder>),
}

/// What a server knows of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing yet: the TLS handshake is under way.
    Handshake,
    /// Nothing that lets it ask for more than health.
    Anonymous,
    /// It was allowed something.
    Admitted,
}

/// What a connection does, which decides when it gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    /// The server waits for a complete ClientHello, or for the first request. Part of one does not count.
    Silent,
    /// A handshake or a request is under way.
    Busy,
    /// It has had requests, and all of them are answered.
    Idle,
}

/// The number of a connection.
pub(crate) type Number = u64;

/// All connections of a server; `T` is what ends one.
#[derive(Debug)]
pub(crate) struct Table<T> {
    kinds: [Kind<T>; 4],
    places: BTreeMap<Number, Place>,
    /// Counts new connections and changes of activity, to order them.
    turn: u64,
}

/// Where the table has a connection.
type Place = (Sharer, Standing);

/// Connections that share slots.
#[derive(Debug)]
struct Kind<T> {
    most: usize,
    /// The most that one sharer may have.
    share: usize,
    connections: BTreeMap<Number, Entry<T>>,
    by_sharer: BTreeMap<Sharer, usize>,
}

#[derive(Debug)]
struct Entry<T> {
    sharer: Sharer,
    activity: Activity,
    /// The turn at which this activity began, or the first request if it is busy: a connection does not become younger by
    /// asking again.
    since: u64,
    first_request: Option<u64>,
    end: T,
}

impl<T> Table<T> {
    pub(crate) fn new(slots: Slots) -> Self {
        // One source never needs more than half of what is for everybody.
        let half = |most: usize| most.div_ceil(2);
        let kinds = [
            Kind::new(slots.handshakes, half(slots.handshakes).min(HANDSHAKES_OF_ONE_SOURCE)),
            Kind::new(slots.anonymous, half(slots.anonymous).min(ANONYMOUS_OF_ONE_SOURCE)),
            Kind::new(slots.admitted, slots.admitted),
            Kind::new(slots.loopback, slots.loopback),
        ];
        Self { kinds, places: BTreeMap::new(), turn: 0 }
    }

    /// A connection is there; also `end` of the one that gives way to it, if one has to.
    pub(crate) fn open(&mut self, source: Source, standing: Standing, end: T) -> (Number, Option<T>) {
        self.turn += 1;
        let number = self.turn;
        let sharer = Sharer::Source(source);
        let entry = Entry {
            sharer: sharer.clone(),
            activity: Activity::Silent,
            since: number,
            first_request: None,
            end,
        };
        (number, self.insert(number, (sharer, standing), entry))
    }

    /// The server has read the ClientHello.
    pub(crate) fn begin_handshake(&mut self, number: Number) {
        self.mark(number, Activity::Busy);
    }

    /// The handshake is done; `end` of the connection that gives way to it. Nothing happens to one that is gone.
    pub(crate) fn finish_handshake(&mut self, number: Number) -> Option<T> {
        let (sharer, before) = self.places.get(&number)?.clone();
        if before != Standing::Handshake {
            return None;
        }
        self.mark(number, Activity::Silent);
        self.relocate(number, (sharer, Standing::Anonymous))
    }

    /// The client was allowed something; `end` of the connection that gives way to it. A connection that is gone or already admitted
    /// stays as it is, even if another user uses it next.
    pub(crate) fn admit(&mut self, number: Number, holder: Option<&Arc<Holder>>) -> Option<T> {
        let (sharer, before) = self.places.get(&number)?;
        if *before == Standing::Admitted {
            return None;
        }
        let sharer = match (sharer, holder) {
            (Sharer::Source(Source::Loopback), _) | (_, None) => sharer.clone(),
            (_, Some(holder)) => Sharer::Holder(Arc::clone(holder)),
        };
        self.relocate(number, (sharer, Standing::Admitted))
    }

    fn relocate(&mut self, number: Number, place: Place) -> Option<T> {
        let before = self.places.get(&number)?.clone();
        let entry = self.kind(&before).remove(number)?;
        let sharer = place.0.clone();
        self.insert(number, place, Entry { sharer, ..entry })
    }

    /// A request begins where there was none.
    pub(crate) fn begin_request(&mut self, number: Number) {
        if let Some(entry) = self.mark(number, Activity::Busy) {
            entry.since = *entry.first_request.get_or_insert(entry.since);
        }
    }

    /// The last request has ended.
    pub(crate) fn end_request(&mut self, number: Number) {
        self.mark(number, Activity::Idle);
    }

    /// A connection is gone.
    pub(crate) fn close(&mut self, number: Number) {
        if let Some(place) = self.places.remove(&number) {
            self.kind(&place).remove(number);
        }
    }

    fn insert(&mut self, number: Number, place: Place, entry: Entry<T>) -> Option<T> {
        let kind = self.kind(&place);
        let first_to_go = kind.first_to_go_for(&place.0);
        kind.connections.insert(number, entry);
        *kind.by_sharer.entry(place.0.clone()).or_default() += 1;
        self.places.insert(number, place);
        let first_to_go = first_to_go?;
        let place = self.places.remove(&first_to_go)?;
        self.kind(&place).remove(first_to_go).map(|entry| entry.end)
    }

    fn mark(&mut self, number: Number, activity: Activity) -> Option<&mut Entry<T>> {
        self.turn += 1;
        let since = self.turn;
        let place = self.places.get(&number)?.clone();
        let entry = self.kind(&place).connections.get_mut(&number)?;
        (entry.activity, entry.since) = (activity, since);
        Some(entry)
    }

    fn kind(&mut self, place: &Place) -> &mut Kind<T> {
        let [handshakes, anonymous, admitted, loopback] = &mut self.kinds;
        match place {
            (Sharer::Source(Source::Loopback), _) => loopback,
            (_, Standing::Handshake) => handshakes,
            (_, Standing::Anonymous) => anonymous,
            (_, Standing::Admitted) => admitted,
        }
    }
}

impl<T> Kind<T> {
    const fn new(most: usize, share: usize) -> Self {
        Self { most, share, connections: BTreeMap::new(), by_sharer: BTreeMap::new() }
    }

    /// Which connection gives way to one more of a sharer, if one has to.
    fn first_to_go_for(&self, sharer: &Sharer) -> Option<Number> {
        if self.count(sharer) >= self.share_of(sharer) {
            return self.first_to_go(|other| other == sharer);
        }
        if self.connections.len() < self.most {
            return None;
        }
        let most = self.by_sharer.values().max()?;
        self.first_to_go(|other| self.count(other) == *most)
    }

    fn first_to_go(&self, is_of: impl Fn(&Sharer) -> bool) -> Option<Number> {
        let (mut silent, mut busy, mut idle) = (Group::default(), Group::default(), Group::default());
        for (number, entry) in self.connections.iter().filter(|(_, entry)| is_of(&entry.sharer)) {
            match entry.activity {
                Activity::Silent => silent.add(*number, entry.since),
                Activity::Busy => busy.add(*number, entry.since),
                Activity::Idle => idle.add(*number, entry.since),
            }
        }
        let group = if idle.count > 0 {
            idle
        } else if busy.count > silent.count {
            busy
        } else {
            silent
        };
        group.oldest.map(|(_, number)| number)
    }

    fn share_of(&self, sharer: &Sharer) -> usize {
        match sharer {
            Sharer::Source(_) => self.share,
            Sharer::Holder(_) => self.share.min(ADMITTED_OF_ONE_HOLDER),
        }
    }

    fn count(&self, sharer: &Sharer) -> usize {
        self.by_sharer.get(sharer).copied().unwrap_or_default()
    }

    fn remove(&mut self, number: Number) -> Option<Entry<T>> {
        let entry = self.connections.remove(&number)?;
        if let Some(count) = self.by_sharer.get_mut(&entry.sharer) {
            *count -= 1;
            if *count == 0 {
                self.by_sharer.remove(&entry.sharer);
            }
        }
        Some(entry)
    }
}

/// The connections with the same activity.
#[derive(Default)]
struct Group {
    count: usize,
    /// The turn and the number of the connection that has had this activity the longest.
    oldest: Option<(u64, Number)>,
}

impl Group {
    fn add(&mut self, number: Number, since: u64) {
        self.count += 1;
        let candidate = (since, number);
        self.oldest = Some(self.oldest.map_or(candidate, |oldest| oldest.min(candidate)));
    }
}

#[cfg(test)]
mod tests;

//! The client at the other end of a connection: its slot in the server, and what requests may know of it.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::auth::{ClientCertificates, Holder, Renewals, TokenHash};
use crate::metrics::Page;
use crate::slots::{Number, Slots, Source, Standing, Table};

/// How many connections of this process gave way to others.
static GAVE_WAY: AtomicU64 = AtomicU64::new(0);

/// Prints how many connections of all servers of this process were closed because others needed their slots.
pub fn print_evicted(page: &mut Page, program: &str) {
    let name = format!("{program}_http_connections_evicted_total");
    page.counter(&name, "Connections that were closed because others needed their place.");
    page.sample(&name, &[], GAVE_WAY.load(Ordering::Relaxed));
}

/// The connections of a server.
#[derive(Debug)]
pub(crate) struct Connections(Mutex<Table<CancellationToken>>);

/// The slot of a connection, until this is dropped.
pub(crate) struct Slot {
    all: Arc<Connections>,
    number: Number,
    address: IpAddr,
    /// Cancelled when the connection has to give way to another.
    lost: CancellationToken,
    under_way: AtomicUsize,
    begun: AtomicUsize,
    renewals: Arc<Mutex<Renewals>>,
}

impl Connections {
    pub(crate) fn new(slots: Slots) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Table::new(slots))))
    }

    /// A slot for a new connection, which another one may lose for it.
    pub(crate) fn open(self: &Arc<Self>, from: SocketAddr, standing: Standing) -> Arc<Slot> {
        let lost = CancellationToken::new();
        let address = from.ip().to_canonical();
        let (number, gave_way) = self.lock().open(Source::of(address), standing, lost.clone());
        end(gave_way);
        let (under_way, begun) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let renewals = Arc::default();
        Arc::new(Slot { all: Arc::clone(self), number, address, lost, under_way, begun, renewals })
    }

    fn lock(&self) -> MutexGuard<'_, Table<CancellationToken>> {
        // Each critical section leaves the table whole, whatever panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn end(gave_way: Option<CancellationToken>) {
    if let Some(lost) = gave_way {
        GAVE_WAY.fetch_add(1, Ordering::Relaxed);
        lost.cancel();
    }
}

impl Slot {
    /// Ends when the connection has to give way.
    pub(crate) async fn lost(&self) {
        self.lost.cancelled().await;
    }

    /// The server has read the ClientHello.
    pub(crate) fn begin_handshake(&self) {
        self.all.lock().begin_handshake(self.number);
    }

    /// The TLS handshake is done.
    pub(crate) fn finish_handshake(&self) {
        let gave_way = self.all.lock().finish_handshake(self.number);
        end(gave_way);
    }

    /// A request begins.
    pub(crate) fn begin_request(self: &Arc<Self>) -> UnderWay {
        self.begun.fetch_add(1, Ordering::Relaxed);
        // Counted while the table is locked: the end of another request of this connection would overtake it otherwise.
        let mut table = self.all.lock();
        if self.under_way.fetch_add(1, Ordering::Relaxed) == 0 {
            table.begin_request(self.number);
        }
        drop(table);
        UnderWay(Arc::clone(self))
    }

    /// Ends once nothing was asked for so long.
    pub(crate) async fn idle(&self, period: Duration) {
        loop {
            let begun = self.begun.load(Ordering::Relaxed);
            sleep(period).await;
            if self.under_way.load(Ordering::Relaxed) == 0 && self.begun.load(Ordering::Relaxed) == begun {
                return;
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.all.lock().close(self.number);
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slot({})", self.number)
    }
}

/// A request that is answered until this is dropped.
pub(crate) struct UnderWay(Arc<Slot>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut table = self.0.all.lock();
        if self.0.under_way.fetch_sub(1, Ordering::Relaxed) == 1 {
            table.end_request(self.0.number);
        }
    }
}

/// Who sends the requests of a connection: an extension of each of them.
#[derive(Clone, Debug)]
pub struct Client(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    slot: Arc<Slot>,
    certificates: Option<ClientCertificates>,
}

impl Client {
    pub(crate) fn new(slot: Arc<Slot>, certificates: Option<ClientCertificates>) -> Self {
        Self(Arc::new(Inner { slot, certificates }))
    }

    pub(crate) fn slot(&self) -> &Arc<Slot> {
        &self.0.slot
    }

    /// What a review of its token needs of it.
    pub(crate) fn sender(&self) -> Sender {
        Sender { address: self.0.slot.address, renewals: Arc::clone(&self.0.slot.renewals) }
    }

    /// The address it is at.
    pub fn address(&self) -> IpAddr {
        self.0.slot.address
    }

    /// What it showed in the TLS handshake, where the server asks for that.
    pub fn certificates(&self) -> Option<&ClientCertificates> {
        self.0.certificates.as_ref()
    }

    /// It was allowed something: its connection gives way to no client that was not. It counts as the holder's; without one, as
    /// that of an API server, by its address alone.
    pub fn admit(&self, holder: Option<&Arc<Holder>>) {
        lock(&self.0.slot.renewals).admit();
        let gave_way = self.0.slot.all.lock().admit(self.0.slot.number, holder);
        end(gave_way);
    }
}

/// Who sends a token. It keeps nothing else of the connection, which a review outlives.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    address: IpAddr,
    renewals: Arc<Mutex<Renewals>>,
}

impl Sender {
    /// The source that the review counts towards.
    pub(crate) fn source(&self) -> Source {
        Source::of(self.address)
    }

    pub(crate) const fn address(&self) -> IpAddr {
        self.address
    }

    /// Counts an unknown token as the renewal of one that was good, if it may be one.
    pub(crate) fn renew(&self, token: TokenHash) -> Option<Renewal> {
        lock(&self.renewals).begin(token).then(|| Renewal(Arc::clone(&self.renewals)))
    }
}

/// A token of a connection that is under review, until this is dropped.
pub(crate) struct Renewal(Arc<Mutex<Renewals>>);

impl Renewal {
    /// The API server does not accept the token.
    pub(crate) fn refuse(self) {
        lock(&self.0).refuse();
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        lock(&self.0).end();
    }
}

fn lock(renewals: &Mutex<Renewals>) -> MutexGuard<'_, Renewals> {
    renewals.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The attacker: a program in the network of a Pod that has one processor, and the token that every Pod has.

mod talk;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use antrea_e2e::patience::ensure_at_least;
use anyhow::{Context, Result};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::Pid;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::pki_types::{PrivateKeyDer, ServerName};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;

use super::attack::{Attack, CONNECTIONS};
use super::questions::{Transport, name, trusting};
use crate::services::network::Network;

/// How many handshakes are under way at a time. With more of them, the first are given up before their turn comes.
const HANDSHAKES: usize = 32;

/// How many chains of certificates are made up, each with as many authorities as a server takes. They have one name, so that
/// any may have vouched for any.
const CHAINS: usize = 16;
const AUTHORITIES: usize = 4;

/// How often to check whether the attack is over.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Whoever has not answered by then will not.
const PATIENCE: Duration = Duration::from_secs(10);

/// For connections of the attacker, and for everything else.
const OPEN_FILES: u64 = 2 * CONNECTIONS;

/// A port that is attacked.
#[derive(Debug, Clone)]
pub(crate) struct Port {
    pub(crate) address: SocketAddr,
    pub(crate) transport: Transport,
    /// What is asked of it with tokens, made up or not, and with heads that no body follows.
    pub(crate) path: &'static str,
    /// A good token, as every Pod has one: those that are made up look like it.
    pub(crate) token: String,
}

/// An attack on a port.
pub(crate) struct Attacker {
    network: Network,
    means: Arc<Means>,
}

/// What all of its connections share.
struct Means {
    attack: Attack,
    to: SocketAddr,
    path: &'static str,
    token: String,
    /// With a chain of certificates each, or one without any; none where the port has no TLS.
    connectors: Vec<TlsConnector>,
    name: ServerName<'static>,
    handshakes: Semaphore,
    count: Count,
}

/// What was achieved.
#[derive(Debug, Default)]
struct Count {
    connections: AtomicU64,
    handshakes: AtomicU64,
    answers: AtomicU64,
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// Allows this process the files of an attack.
pub(crate) fn allow_open_files() -> Result<()> {
    let (now, most) =
        getrlimit(Resource::RLIMIT_NOFILE).context("how many files may be open is not known")?;
    let (now, most) = (now.max(OPEN_FILES), most.max(OPEN_FILES));
    setrlimit(Resource::RLIMIT_NOFILE, now, most).context("not enough files may be open")
}

impl Attacker {
    pub(crate) fn new(network: &Network, attack: Attack, port: Port) -> Result<Self> {
        let connectors = match port.transport {
            Transport::Plain => Vec::new(),
            Transport::Tls if !attack.has_certificates() => vec![nameless(attack)?],
            Transport::Tls => (0..CHAINS).map(|_| forged()).collect::<Result<_>>()?,
        };
        let means = Means {
            attack,
            to: port.address,
            path: port.path,
            token: port.token,
            connectors,
            name: name()?,
            handshakes: Semaphore::new(HANDSHAKES),
            count: Count::default(),
        };
        Ok(Self { network: network.clone(), means: Arc::new(means) })
    }

    /// Attacks until it is over, and says what it has achieved.
    pub(crate) fn run(&self, over: &AtomicBool) -> Result<String> {
        let begun = Instant::now();
        self.network.within(|| {
            stay_on_one_processor()?;
            let runtime = Builder::new_current_thread().enable_all().build().context("no runtime")?;
            runtime.block_on(attack(&self.means, over));
            Ok(())
        })?;
        let Means { attack, to, count, .. } = &*self.means;
        let [connections, handshakes, answers] = count.a_second(begun.elapsed());
        let done = match attack {
            // A server that is full closes them, many before their request is there.
            Attack::Silent | Attack::Strangers => connections,
            _ => answers,
        };
        let achieved = format!(
            "the attacker had {connections} connections, {handshakes} handshakes and {answers} answers a second"
        );
        ensure_at_least(&format!("{attack:?} at {to}"), done, attack.least())
            .with_context(|| format!("this is no attack: {achieved}"))?;
        Ok(achieved)
    }
}

impl Count {
    /// Of connections, handshakes and answers.
    fn a_second(&self, time: Duration) -> [u32; 3] {
        let millis = u64::try_from(time.as_millis()).unwrap_or(1).max(1);
        [&self.connections, &self.handshakes, &self.answers]
            .map(|count| u32::try_from(count.load(Ordering::Relaxed) * 1000 / millis).unwrap_or(u32::MAX))
    }
}

/// From now on this thread has one processor, as a Pod with that limit has.
fn stay_on_one_processor() -> Result<()> {
    let this = Pid::from_raw(0);
    let allowed = sched_getaffinity(this).context("no processors")?;
    let first = (0..CpuSet::count()).find(|cpu| allowed.is_set(*cpu).unwrap_or(false));
    let mut one = CpuSet::new();
    one.set(first.context("no processor")?).context("no such processor")?;
    sched_setaffinity(this, &one).context("cannot stay on one processor")
}

/// A client without a certificate.
fn nameless(attack: Attack) -> Result<TlsConnector> {
    let mut config = trusting()?.with_no_client_auth();
    if attack == Attack::Deaf {
        config.alpn_protocols = vec![b"h2".to_vec()];
    }
    Ok(without_tickets(config))
}

/// A client with a certificate, and authorities for it, that nobody knows.
fn forged() -> Result<TlsConnector> {
    let authorities = (0..AUTHORITIES).map(|_| {
        let mut parameters = CertificateParams::new(Vec::new())?;
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(parameters, KeyPair::generate()?)
    });
    let authorities = authorities.collect::<Result<Vec<_>, rcgen::Error>>()?;
    let key = KeyPair::generate()?;
    let first = authorities.first().context("nobody vouches for the certificate")?;
    let own = CertificateParams::new(Vec::new())?.signed_by(&key, first)?.der().clone();
    let chain = std::iter::once(own).chain(authorities.iter().map(|authority| authority.der().clone()));
    let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?;
    Ok(without_tickets(trusting()?.with_client_auth_cert(chain.collect(), key)?))
}

/// Every handshake is a whole one.
fn without_tickets(mut config: ClientConfig) -> TlsConnector {
    config.resumption = Resumption::disabled();
    TlsConnector::from(Arc::new(config))
}

async fn attack(means: &Arc<Means>, over: &AtomicBool) {
    let mut connections = JoinSet::new();
    for number in 0..means.attack.connections() {
        connections.spawn(again_and_again(Arc::clone(means), number));
    }
    while !over.load(Ordering::Relaxed) {
        sleep(LOOK_EVERY).await;
    }
}

async fn again_and_again(means: Arc<Means>, number: u64) {
    loop {
        means.talk(number).await.ok();
        sleep(means.attack.pause()).await;
    }
}

impl Means {
    /// A connection that ends with a reset, so that nobody remembers it.
    async fn connect(&self) -> io::Result<TcpStream> {
        let stream = timeout(PATIENCE, TcpStream::connect(self.to)).await??;
        SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
        self.count.connections.fetch_add(1, Ordering::Relaxed);
        Ok(stream)
    }

    /// One that is ready for requests.
    async fn open(&self, number: u64) -> io::Result<Box<dyn Stream>> {
        let chain = usize::try_from(number).unwrap_or_default() % self.connectors.len().max(1);
        let Some(connector) = self.connectors.get(chain) else {
            return Ok(Box::new(self.connect().await?));
        };
        let _turn = self.handshakes.acquire().await.map_err(io::Error::other)?;
        let stream = self.connect().await?;
        let stream = timeout(PATIENCE, connector.connect(self.name.clone(), stream)).await??;
        self.count.handshakes.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(stream))
    }
}

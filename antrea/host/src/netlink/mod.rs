//! rtnetlink in one network namespace. What is asked for is compared with what is there; nothing is sent for what is
//! as it should be.

mod address_watch;
mod addresses;
mod answers;
mod link_watch;
mod links;
mod neighbours;
mod notices;
mod routes;
mod veth;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkMessage};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::protocols::NETLINK_ROUTE;
use tokio::sync::{Mutex, OnceCell};

pub use address_watch::AddressWatch;
pub use link_watch::LinkWatch;
pub use links::{AdminState, Arp, Link, LinkSettings};
pub use veth::{Veth, VethEnd};

use crate::kernel_socket::KernelSocket;
use crate::nfnetlink::Nftables;
use crate::{Netns, NetnsError, blocking};
use answers::{Answers, Dump, Progress};

/// How often a list is asked for that changes each time while it is told. One that is long enough for that takes
/// milliseconds.
const LISTINGS: u32 = 32;
/// How long the kernel is left alone after the first of these lists; after the second it is twice as long, and so on.
const PAUSE: Duration = Duration::from_millis(5);

/// A connection to the kernel's routing and link tables, on which one request is made at a time. Clones share it; it
/// closes with the last of them.
///
/// The kernel works on a request within the call, as with any system call: the task that asks waits, and the runtime goes on
/// with others. It works without a runtime as well.
#[derive(Clone)]
pub struct Netlink {
    socket: Arc<Mutex<KernelSocket>>,
    nftables: Arc<OnceCell<Arc<Nftables>>>,
}

/// The kernel refused something, or could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum NetlinkError {
    /// No netlink socket can be opened.
    #[error("cannot open a netlink socket")]
    Socket(#[source] io::Error),
    /// The namespace cannot be entered.
    #[error("cannot open a netlink socket in another network namespace")]
    Netns(#[from] NetnsError),
    /// The kernel refused.
    #[error("cannot {operation}")]
    Refused {
        /// What was asked for.
        operation: String,
        /// The answer.
        #[source]
        source: io::Error,
    },
    /// The kernel could not be asked, or did not answer.
    #[error("cannot ask the kernel to {operation}")]
    Unanswered {
        /// What was asked for.
        operation: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// There is no such interface.
    #[error("there is no interface {0}")]
    NoInterface(antrea_types::InterfaceName),
}

impl fmt::Debug for Netlink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Netlink")
    }
}

impl NetlinkError {
    /// Whether the kernel answered with this error number.
    fn is(&self, errno: nix::errno::Errno) -> bool {
        matches!(self, Self::Refused { source, .. } if source.raw_os_error() == Some(errno as i32))
    }

    /// Whether the thing asked for exists already.
    pub fn is_exists(&self) -> bool {
        self.is(nix::errno::Errno::EEXIST)
    }

    /// Whether there is no route, or one that lets nothing pass (`unreachable`, `prohibit`, `blackhole`; EINVAL is also for what
    /// is no address of a host).
    fn is_unreachable(&self) -> bool {
        use nix::errno::Errno;
        let none = [Errno::ENETUNREACH, Errno::EHOSTUNREACH, Errno::EACCES, Errno::EINVAL];
        none.iter().any(|errno| self.is(*errno))
    }

    /// Whether the thing asked for does not exist; the kernel has a different number for each kind of thing.
    pub fn is_absent(&self) -> bool {
        use nix::errno::Errno;
        matches!(self, Self::NoInterface(_))
            || [Errno::ENODEV, Errno::ESRCH, Errno::ENOENT, Errno::EADDRNOTAVAIL]
                .iter()
                .any(|errno| self.is(*errno))
    }
}

impl Netlink {
    /// Connects in the namespace of the calling thread.
    ///
    /// # Errors
    /// No socket can be opened.
    pub fn current() -> Result<Self, NetlinkError> {
        let socket = KernelSocket::connect(NETLINK_ROUTE).map_err(NetlinkError::Socket)?;
        Ok(Self { socket: Arc::new(Mutex::new(socket)), nftables: Arc::default() })
    }

    /// nf_tables of the namespace. It is connected to when it is needed first, by a thread that must be in that namespace.
    pub(crate) async fn nftables(&self) -> io::Result<Arc<Nftables>> {
        self.nftables.get_or_try_init(|| async { Nftables::current().map(Arc::new) }).await.cloned()
    }

    /// Connects in another namespace.
    ///
    /// # Errors
    /// The namespace cannot be entered, or no socket can be opened there.
    pub async fn in_netns(netns: &Netns) -> Result<Self, NetlinkError> {
        netns.run(Self::current).await?
    }

    /// Has the kernel do something.
    async fn execute(
        &self,
        message: RouteNetlinkMessage,
        flags: u16,
        operation: impl Fn() -> String,
    ) -> Result<(), NetlinkError> {
        self.request(&message, NLM_F_ACK | flags, &operation).await.map(drop)
    }

    /// Asks for one object.
    async fn get(
        &self,
        message: RouteNetlinkMessage,
        operation: impl Fn() -> String,
    ) -> Result<Vec<RouteNetlinkMessage>, NetlinkError> {
        self.request(&message, NLM_F_ACK, &operation).await.map(|(objects, _)| objects)
    }

    /// Asks for all objects of a kind. What is not in the list is not there: a list that was interrupted, where the kernel may
    /// have skipped some, counts for nothing.
    async fn dump(
        &self,
        message: RouteNetlinkMessage,
        operation: impl Fn() -> String,
    ) -> Result<Vec<RouteNetlinkMessage>, NetlinkError> {
        let list = complete(|| self.request(&message, NLM_F_DUMP, &operation)).await?;
        list.ok_or_else(|| NetlinkError::Unanswered {
            operation: operation(),
            source: io::Error::other(format!("it was interrupted {LISTINGS} times by changes")),
        })
    }

    async fn request(
        &self,
        message: &RouteNetlinkMessage,
        flags: u16,
        operation: &impl Fn() -> String,
    ) -> Result<(Vec<RouteNetlinkMessage>, Dump), NetlinkError> {
        let mut socket = self.socket.lock().await;
        blocking(|| ask(&mut socket, message, flags, operation))
    }
}

/// Sends a request, and returns the objects of the answer when it is whole.
fn ask(
    socket: &mut KernelSocket,
    message: &RouteNetlinkMessage,
    flags: u16,
    operation: &impl Fn() -> String,
) -> Result<(Vec<RouteNetlinkMessage>, Dump), NetlinkError> {
    let unanswered = |source| NetlinkError::Unanswered { operation: operation(), source };
    let mut request = NetlinkMessage::from(message.clone());
    request.header.flags = NLM_F_REQUEST | flags;
    request.header.sequence_number = socket.take(1);
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    socket.send(&bytes).map_err(unanswered)?;
    let mut answers = Answers::to(request.header.sequence_number);
    loop {
        match answers.read(&socket.receive().map_err(unanswered)?) {
            Progress::More => {}
            Progress::Done(dump) => return Ok((answers.objects, dump)),
            Progress::Refused(source) => {
                return Err(NetlinkError::Refused { operation: operation(), source });
            }
        }
    }
}

/// Asks until a list is complete, less and less often; nothing if none is.
async fn complete<T, E, F>(mut ask: impl FnMut() -> F) -> Result<Option<T>, E>
where
    F: Future<Output = Result<(T, Dump), E>>,
{
    for attempt in 1..=LISTINGS {
        if let (list, Dump::Complete) = ask().await? {
            return Ok(Some(list));
        }
        tokio::time::sleep(PAUSE * attempt).await;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::ready;
    use std::sync::mpsc::channel;

    use netlink_packet_route::link::LinkMessage;
    use tokio::time::Instant;

    use super::*;

    /// Which of the lists is taken, counted from one, where so many are interrupted first.
    async fn taken(interrupted: u32) -> Option<u32> {
        let mut asked = 0;
        let list = complete(|| {
            asked += 1;
            let dump = if asked > interrupted { Dump::Complete } else { Dump::Interrupted };
            ready(Ok::<_, Infallible>((asked, dump)))
        });
        list.await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_that_was_interrupted_is_asked_for_again_and_not_for_ever() {
        let begun = Instant::now();
        assert_eq!(taken(0).await, Some(1));
        assert_eq!((taken(3).await, begun.elapsed()), (Some(4), PAUSE * 6));
        assert_eq!(taken(LISTINGS).await, None);
        assert!(begun.elapsed() > Duration::from_secs(2), "changes may end within {:?}", begun.elapsed());
    }

    /// A change of nothing that nobody is to acknowledge: the answer never comes, and who asks waits in the kernel.
    async fn ask_in_vain(netlink: &Netlink) -> Result<(Vec<RouteNetlinkMessage>, Dump), NetlinkError> {
        let mut loopback = LinkMessage::default();
        loopback.header.index = 1;
        netlink.request(&RouteNetlinkMessage::SetLink(loopback), 0, &|| "change nothing".to_owned()).await
    }

    #[test]
    fn a_kernel_that_does_not_answer_leaves_the_runtime_answering() {
        let test = "a_kernel_that_does_not_answer_leaves_the_runtime_answering";
        if !nix::unistd::geteuid().is_root() {
            return println!("SKIPPED {test}: changes of links need root");
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let netlink = Netlink::current().unwrap();
        let asking = runtime.spawn({
            let netlink = netlink.clone();
            async move { ask_in_vain(&netlink).await }
        });
        while netlink.socket.try_lock().is_ok() && !asking.is_finished() {
            std::thread::yield_now();
        }
        let (answer, answered) = channel();
        runtime.spawn(async move { answer.send(()) });
        let outcome = answered.recv_timeout(Duration::from_secs(5));
        assert!(!asking.is_finished(), "the kernel answered");
        assert_eq!(outcome, Ok(()), "the other task waits for the kernel");
        runtime.shutdown_background();
    }
}

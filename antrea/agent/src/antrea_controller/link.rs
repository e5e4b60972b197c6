//! The way to the controller: one connection that is shared, made anew where the controller is now.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use hyper::body::Incoming;
use hyper::client::conn::http2;
use rustls::pki_types::CertificateDer;
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::answer::successful;
use super::call::{Call, CallError, authorization};
use super::connection::{self, Connection, Sender};
use super::trust::Trust;

/// How long the head of an answer may take.
const ANSWER: Duration = Duration::from_secs(30);

/// Where the controller is, as far as that is known.
#[derive(Clone, Default)]
pub(super) struct Whereabouts {
    /// Its addresses, in order; nothing before they were listed.
    pub(super) endpoints: Option<Vec<SocketAddr>>,
    /// Who vouches for it.
    pub(super) authority: Authority,
}

/// Who vouches for the controller.
#[derive(Clone, Default)]
pub(super) enum Authority {
    /// Nobody has looked yet.
    #[default]
    NotAsked,
    /// Nobody does.
    Nobody,
    /// These certificates do.
    Known(Arc<Trust>),
}

/// The way to the controller.
pub(super) struct Link {
    whereabouts: watch::Sender<Whereabouts>,
    /// What the controller is called.
    host: String,
    token_file: PathBuf,
    connections: Mutex<Connections>,
}

#[derive(Default)]
struct Connections {
    /// The newest that takes more requests.
    shared: Option<(http2::SendRequest<Full<Bytes>>, Arc<Open>)>,
    /// All that are in use.
    open: Vec<Weak<Open>>,
    /// Failures to connect since the last success: each time another endpoint is tried.
    failures: usize,
}

/// A connection, as long as somebody uses it.
pub(super) struct Open {
    endpoint: SocketAddr,
    certificates: Vec<CertificateDer<'static>>,
    outdated: CancellationToken,
}

/// A successful answer.
pub(super) struct Answered {
    pub(super) response: Response<Incoming>,
    pub(super) open: Arc<Open>,
}

impl Link {
    pub(super) fn new(host: String, token_file: PathBuf) -> Self {
        Self { whereabouts: watch::Sender::default(), host, token_file, connections: Mutex::default() }
    }

    /// Where the controller is; who learns it says so here.
    pub(super) const fn whereabouts(&self) -> &watch::Sender<Whereabouts> {
        &self.whereabouts
    }

    /// What the controller is called.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Asks, over a new connection if there is none.
    pub(super) async fn call(&self, call: &Call) -> Result<Answered, CallError> {
        let token = authorization(&self.token_file).await?;
        let (mut sender, open) = self.sender().await?;
        let request = call.request(sender.target(&self.host), token)?;
        let sent = tokio::select! {
            sent = timeout(ANSWER, sender.send(request)) => sent.map_err(|_| CallError::Slow(ANSWER)),
            () = open.outdated() => Err(CallError::Moved),
        };
        match sent.and_then(|sent| Ok(sent?)) {
            Ok(response) => Ok(Answered { response: successful(response).await?, open }),
            Err(error) => {
                self.connections.lock().await.share_no_longer(&open);
                Err(error)
            }
        }
    }

    /// Until it is known whether there is somebody to ask.
    pub(super) async fn wait_until_looked_up(&self) {
        // It never fails: the sender is here.
        let _ = self.whereabouts.subscribe().wait_for(Whereabouts::are_looked_up).await;
    }

    /// What the next request goes through. While one connects, the others wait: they share what comes of it.
    async fn sender(&self) -> Result<(Sender, Arc<Open>), CallError> {
        let mut connections = self.connections.lock().await;
        if let Some((sender, open)) = connections.shared.as_ref().filter(|(sender, _)| !sender.is_closed()) {
            return Ok((Sender::Http2(sender.clone()), Arc::clone(open)));
        }
        let mut whereabouts = self.whereabouts.subscribe();
        let (endpoint, trust) = whereabouts.borrow_and_update().choose(connections.failures)?;
        let connected = tokio::select! {
            connected = connection::open(endpoint, &trust) => connected,
            _ = whereabouts.changed() => Err(CallError::Moved),
        };
        match connected {
            Ok(connection) => Ok(connections.add(endpoint, connection)),
            Err(error) => {
                connections.failures = connections.failures.wrapping_add(1);
                Err(error)
            }
        }
    }

    /// Ends connections to where the controller is not any more, or for which nobody vouches any more, for ever.
    pub(super) async fn keep(&self) {
        let mut whereabouts = self.whereabouts.subscribe();
        while whereabouts.changed().await.is_ok() {
            let now = whereabouts.borrow_and_update().clone();
            self.connections.lock().await.end_outdated(&now);
        }
    }
}

impl Whereabouts {
    const fn are_looked_up(&self) -> bool {
        self.endpoints.is_some() && !matches!(self.authority, Authority::NotAsked)
    }

    fn choose(&self, failures: usize) -> Result<(SocketAddr, Arc<Trust>), CallError> {
        let Authority::Known(trust) = &self.authority else {
            return Err(CallError::Unknown("nothing vouches for it in the ConfigMap antrea-ca"));
        };
        let endpoints = self.endpoints.as_deref().unwrap_or_default();
        let number = failures.checked_rem(endpoints.len()).unwrap_or(0);
        let endpoint = endpoints.get(number);
        let endpoint =
            endpoint.ok_or(CallError::Unknown("its Service antrea has no endpoint that is ready"))?;
        Ok((*endpoint, Arc::clone(trust)))
    }

    /// An endpoint that is gone may have been left behind by a Node that nobody hears of: what it says is of the past. As
    /// long as there is no other it is the best there is.
    fn fit(&self, open: &Open) -> bool {
        let endpoints = self.endpoints.as_deref().unwrap_or_default();
        let is_there = endpoints.is_empty() || endpoints.contains(&open.endpoint);
        let is_trusted = match &self.authority {
            Authority::Known(trust) => trust.vouches_for(&open.certificates),
            Authority::NotAsked | Authority::Nobody => true,
        };
        is_there && is_trusted
    }
}

impl Connections {
    fn add(&mut self, endpoint: SocketAddr, connection: Connection) -> (Sender, Arc<Open>) {
        let Connection { sender, certificates } = connection;
        let open = Arc::new(Open { endpoint, certificates, outdated: CancellationToken::new() });
        if let Sender::Http2(sender) = &sender {
            self.shared = Some((sender.clone(), Arc::clone(&open)));
        }
        self.open.retain(|open| open.strong_count() > 0);
        self.open.push(Arc::downgrade(&open));
        self.failures = 0;
        (sender, open)
    }

    fn share_no_longer(&mut self, failed: &Arc<Open>) {
        self.shared.take_if(|(_, open)| Arc::ptr_eq(open, failed));
    }

    fn end_outdated(&mut self, now: &Whereabouts) {
        let open = self.open.iter().filter_map(Weak::upgrade).filter(|open| !open.outdated.is_cancelled());
        for open in open.filter(|open| !now.fit(open)).collect::<Vec<_>>() {
            info!(endpoint = %open.endpoint, "Connection to antrea-controller is given up: it is elsewhere, or shows another certificate");
            open.outdated.cancel();
            self.share_no_longer(&open);
        }
    }
}

impl Open {
    /// Until it is not to be used any longer.
    pub(super) async fn outdated(&self) {
        self.outdated.cancelled().await;
    }
}

#[cfg(test)]
mod tests {
    use antrea_kit::api::StoredAuthority;

    use super::*;

    /// Who is asked after some failures, or why nobody is; nothing while that is not looked up.
    #[track_caller]
    fn check(endpoints: Option<&[&str]>, authority: &Authority, failures: usize, expected: Option<&str>) {
        let endpoints = endpoints.map(|all| all.iter().map(|one| one.parse().unwrap()).collect());
        let whereabouts = Whereabouts { endpoints, authority: authority.clone() };
        let chosen = whereabouts.choose(failures).map(|(endpoint, _)| endpoint.to_string());
        let chosen = chosen.unwrap_or_else(|error| error.to_string());
        assert_eq!(whereabouts.are_looked_up().then_some(chosen.as_str()), expected);
    }

    #[test]
    fn a_controller_that_is_not_there_is_not_waited_for() {
        let pem = StoredAuthority::generate("antrea").unwrap().certificate;
        let known = Authority::Known(Arc::new(Trust::new(&pem, "antrea.kube-system.svc").unwrap()));
        let no_endpoint = "antrea-controller is not known: its Service antrea has no endpoint that is ready";
        let nobody = "antrea-controller is not known: nothing vouches for it in the ConfigMap antrea-ca";
        let two = ["10.0.0.1:1", "10.0.0.2:1"];
        check(None, &Authority::NotAsked, 0, None);
        check(None, &known, 0, None);
        check(Some(&two), &Authority::NotAsked, 0, None);
        check(Some(&[]), &known, 0, Some(no_endpoint));
        check(Some(&two), &Authority::Nobody, 0, Some(nobody));
        check(Some(&two), &known, 0, Some(two[0]));
        check(Some(&two), &known, 1, Some(two[1]));
        check(Some(&two), &known, 2, Some(two[0]));
    }
}

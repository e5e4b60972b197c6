//! Keeps the Secret: it comes back as it was, what another replica writes into it is taken over, and the elected replica takes
//! the steps from one authority to the next.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use antrea_kit::keeper::{self, Keep};
use antrea_kit::kube_client::status_code;
use antrea_kit::leases::Leadership;
use antrea_kit::logging::chain;
use antrea_kit::serving_certificate::ServingCertificate;
use antrea_kit::watch::{WatchEvent, watch};
use anyhow::Result;
use futures::StreamExt;
use futures::stream::{select, unfold};
use k8s_openapi::api::core::v1::Secret;
use kube::api::ObjectMeta;
use kube::runtime::watcher::Config;
use kube::{Api, Client};
use tokio::sync::mpsc;
use tokio::sync::watch::{Receiver, Sender};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::authorities::{Authorities, Moment, Step};
use super::secret::{SECRET, read};
use super::{create, write};

/// How often to check whether a step is due.
const PERIOD: Duration = Duration::from_secs(30);
/// Changes that wait to be acted on.
const EVENTS: usize = 16;

/// What the keeper shares with others.
pub(crate) struct Shared {
    /// What the server shows.
    pub(crate) certificate: Arc<ServingCertificate>,
    /// The certificates that API servers are to trust.
    pub(crate) bundle: Sender<String>,
    /// Those that they trust everywhere.
    pub(crate) trusted: Receiver<String>,
    /// Whether this replica is the one that takes steps.
    pub(crate) leadership: Receiver<Leadership>,
}

struct Keeper {
    api: Api<Secret>,
    namespace: String,
    authorities: Authorities,
    shared: Shared,
    found: Found,
    /// Labels and annotations that the Secret has, or had.
    metadata: ObjectMeta,
    started: Instant,
    trusted_since: Option<Instant>,
}

/// What is known of the Secret.
enum Found {
    /// Nothing yet, or not since it was written from here: the watch will tell.
    Unknown,
    Gone,
    /// With nothing in it that vouches for anything.
    Empty(Option<String>),
    /// With an authority. The text is its version.
    Whole(Option<String>),
}

/// What a Secret tells.
struct Told {
    metadata: Box<ObjectMeta>,
    authorities: Option<Authorities>,
}

enum Event {
    Secret(WatchEvent<Told>),
    /// Some time has passed.
    Later,
}

#[derive(Debug)]
enum Action {
    Create,
    Fill(Option<String>),
    Step(Option<String>, Step),
}

/// Keeps the Secret until `stop`. `authorities` are those that it had.
///
/// # Errors
/// Never: an API server that is away is asked again.
pub(crate) async fn run(
    client: Client,
    namespace: String,
    authorities: Authorities,
    shared: Shared,
    stop: CancellationToken,
) -> Result<()> {
    let api: Api<Secret> = Api::namespaced(client, &namespace);
    let keeper = Keeper {
        api: api.clone(),
        namespace,
        authorities,
        shared,
        found: Found::Unknown,
        metadata: ObjectMeta::default(),
        started: Instant::now(),
        trusted_since: None,
    };
    let only = Config::default().fields(&format!("metadata.name={SECRET}"));
    let (sender, told) = mpsc::channel(EVENTS);
    let later = unfold((), |()| async {
        sleep(PERIOD).await;
        Some((Event::Later, ()))
    });
    let later = later.take_until(stop.clone().cancelled_owned());
    let events = select(keeper::stream(told).map(Event::Secret), later);
    let (watched, ()) = tokio::join!(watch(api, only, tell, sender, stop), keeper::keep(keeper, events));
    watched
}

impl Keeper {
    /// The Secret as a watch has it.
    fn find(&mut self, told: Option<Told>) {
        let Some(Told { metadata, authorities }) = told else {
            self.found = Found::Gone;
            return;
        };
        let ObjectMeta { resource_version, labels, annotations, .. } = *metadata;
        let is_whole = authorities.is_some_and(|authorities| self.take_over(authorities));
        self.found = if is_whole { Found::Whole(resource_version) } else { Found::Empty(resource_version) };
        self.metadata = ObjectMeta { labels, annotations, ..ObjectMeta::default() };
    }

    /// What the Secret holds counts, whichever replica has written it. Whether it could be taken over.
    fn take_over(&mut self, found: Authorities) -> bool {
        if found.current != self.authorities.current {
            if let Err(error) = self.shared.certificate.reissue(&found.current) {
                warn!(secret = SECRET, error = %chain(&error), "The Secret holds no usable authority for webhooks");
                return false;
            }
            info!(secret = SECRET, "Webhooks have another certificate authority");
        }
        if found != self.authorities {
            self.trusted_since = None;
            self.shared.bundle.send_replace(found.bundle());
            self.authorities = found;
        }
        true
    }

    fn note_trust(&mut self) {
        let is_trusted = *self.shared.trusted.borrow() == self.authorities.bundle();
        self.trusted_since = is_trusted.then(|| self.trusted_since.unwrap_or_else(Instant::now));
    }

    /// The step that this replica is to take now.
    fn due(&self) -> Option<Step> {
        if *self.shared.leadership.borrow() != Leadership::Leading {
            return None;
        }
        self.authorities.due(&Moment {
            now: SystemTime::now(),
            running: self.started.elapsed(),
            trusted: self.trusted_since.map(|since| since.elapsed()),
        })
    }
}

/// What a Secret tells; of one that was damaged, that there is nothing in it.
fn tell(secret: Secret) -> Option<Told> {
    let authorities = read(&secret).unwrap_or_else(|error| {
        warn!(secret = SECRET, error = %chain(&error), "The Secret holds no usable authority for webhooks");
        None
    });
    Some(Told { metadata: Box::new(secret.metadata), authorities })
}

impl Keep for Keeper {
    type Event = Event;
    type Action = Action;
    const WHAT: &'static str = "Secret with the certificate authority of webhooks";

    fn learn(&mut self, event: Event) {
        match event {
            Event::Secret(WatchEvent::Resynced(all)) => self.find(all.into_iter().next()),
            Event::Secret(WatchEvent::Applied(told)) => self.find(Some(told)),
            Event::Secret(WatchEvent::Deleted(_)) => self.find(None),
            Event::Later => {}
        }
        self.note_trust();
    }

    fn plan(&self) -> Option<Vec<Action>> {
        let action = match &self.found {
            Found::Unknown => return None,
            Found::Gone => Some(Action::Create),
            Found::Empty(version) => Some(Action::Fill(version.clone())),
            Found::Whole(version) => self.due().map(|step| Action::Step(version.clone(), step)),
        };
        Some(action.into_iter().collect())
    }

    async fn carry_out(&self, action: &Action) -> Result<()> {
        let written = match action {
            Action::Create => {
                create(&self.api, &self.namespace, self.metadata.clone(), &self.authorities).await
            }
            Action::Fill(version) => write(&self.api, version.as_deref(), &self.authorities).await,
            Action::Step(version, step) => {
                let next = self.authorities.after(*step, SystemTime::now())?;
                write(&self.api, version.as_deref(), &next).await
            }
        };
        match written {
            Ok(()) => info!(secret = SECRET, ?action, "Wrote the certificate authority of webhooks"),
            // Somebody else was faster.
            Err(error) if matches!(status_code(&error), Some(404 | 409)) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// What it holds then, the watch tells.
    fn done(&mut self, _: Action) {
        self.found = Found::Unknown;
    }
}

#[cfg(test)]
mod tests;

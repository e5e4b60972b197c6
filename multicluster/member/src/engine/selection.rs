//! Objects that are kept of some Services alone: of which, and how they are learned when another one comes.

use std::time::Duration;

use antrea_kit::backoff::{Backoff, jitter};
use antrea_kit::logging::chain;
use antrea_kit::watch::{WatchEvent, watch_each};
use antrea_mc_core::ids::NamespacedName;
use kube::Client;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{Engine, Part, QUEUE};
use crate::area::Area;
use crate::interest::{Filter, Interest, News};
use crate::kind::Kind;
use crate::objects::{Change, Key, service_of};
use crate::send::Clients;
use crate::watches::{Watched, Watcher};

/// What is kept of some Services alone.
pub(super) struct Selection {
    watched: Vec<Watched>,
    /// Whether it is watched. That begins when it is known for the first time of which Services.
    is_begun: bool,
    interest: Interest,
    news: mpsc::Sender<News>,
    /// What is told of it.
    pub(super) heard: mpsc::Receiver<News>,
    stop: CancellationToken,
}

impl Default for Selection {
    fn default() -> Self {
        let (news, heard) = mpsc::channel(QUEUE);
        let (interest, stop) = (Interest::default(), CancellationToken::new());
        Self { watched: Vec::new(), is_begun: false, interest, news, heard, stop }
    }
}

impl Selection {
    /// Whether objects of a kind say which Services are of interest.
    fn is_by(&self, kind: Kind) -> bool {
        self.watched.iter().any(|watched| watched.only == Some(kind))
    }

    fn start(&self, client: &Client) {
        for watched in &self.watched {
            let (api, config) = (watched.api(client.clone()), watched.config());
            let resource = watched.kind.resource();
            let mut filter = Filter::new(watched.kind, self.interest.clone());
            let (news, stop) = (self.news.clone(), self.stop.clone());
            tokio::spawn(async move {
                watch_each(&resource.kind, api, config, |event| filter.choose(event), news, stop).await
            });
        }
    }

    fn fetch(&self, clients: &Clients, kind: Kind, service: &Key, since: u64) {
        let fetch = Fetch { clients: clients.clone(), kind, service: service.clone(), since };
        let (interest, news, stop) = (self.interest.clone(), self.news.clone(), self.stop.clone());
        tokio::spawn(async move {
            let fetched = stop.run_until_cancelled(fetch.until_answered(&interest)).await;
            if let Some(Some(fetched)) = fetched {
                // Nobody hears it at the end.
                let _ = news.send(fetched).await;
            }
        });
    }
}

/// What is asked for when a Service becomes of interest.
struct Fetch {
    clients: Clients,
    kind: Kind,
    service: Key,
    since: u64,
}

impl Fetch {
    /// Asks again and again; nothing where nobody wants to know any more.
    async fn until_answered(self, interest: &Interest) -> Option<News> {
        let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(10));
        while interest.since(&self.service) == Some(self.since) {
            match self.clients.fetch(self.kind, &self.service).await {
                Ok(all) => {
                    let Self { kind, service, since, .. } = self;
                    return Some(News::Fetched { kind, service, since, all });
                }
                Err(error) => {
                    if backoff.is_fresh() {
                        let (kind, service) = (self.kind, &self.service);
                        warn!(?kind, %service, error = %chain(error.as_ref()), "Objects of an exported Service cannot be read");
                    }
                    sleep(backoff.wait(jitter())).await;
                }
            }
        }
        None
    }
}

impl<P: Part> Engine<P> {
    /// Begins to watch the objects of this cluster, until `stop`.
    pub(super) fn watch(&mut self, stop: CancellationToken) {
        let (all, some): (Vec<Watched>, Vec<Watched>) =
            self.part.local().into_iter().partition(|watched| watched.only.is_none());
        self.selection.watched = some;
        self.selection.stop = stop.clone();
        Watcher { connection: 0, told: self.told.clone(), stop }.start(&self.clients.local, &all);
    }

    /// Begins to watch what is kept of some Services alone, once it is known of which.
    pub(super) fn watch_selected(&mut self) {
        let is_known = |watched: &Watched| watched.only.is_none_or(|kind| self.objects.has_listed(kind));
        if !self.selection.is_begun && self.selection.watched.iter().all(is_known) {
            self.selection.is_begun = true;
            self.selection.start(&self.clients.local);
        }
    }

    /// Takes in which Services are of interest, and which are no more.
    pub(super) fn select(&mut self, changes: &[Change]) {
        for Change { key, before } in changes {
            // No Service has another name.
            if !self.selection.is_by(key.kind) || NamespacedName::new(&key.namespace, &key.name).is_err() {
                continue;
            }
            let service = Key::new(Kind::Service, &key.namespace, &key.name);
            match (before, self.objects.get(key)) {
                (None, Some(_)) => self.begin(&service),
                (Some(_), None) => {
                    self.selection.interest.end(&service);
                    self.objects.forget_service(&service);
                }
                _ => {}
            }
        }
    }

    /// The first list has a Service that is of interest before it; any other is asked for.
    fn begin(&mut self, service: &Key) {
        let since = self.selection.interest.begin(service);
        if !self.selection.is_begun {
            return;
        }
        for kind in self.selection.watched.iter().map(|watched| watched.kind) {
            self.objects.ask(kind, service);
            self.selection.fetch(&self.clients, kind, service, since);
        }
    }

    /// Takes in what is told of objects of Services, and all else that is.
    pub(super) fn hear(&mut self, news: News) {
        self.hear_one(news);
        while let Ok(news) = self.selection.heard.try_recv() {
            self.hear_one(news);
        }
    }

    fn hear_one(&mut self, news: News) {
        match news {
            News::Applied { kind, since, object } => {
                let service = service_of(kind, &object);
                // What is told late may be of a Service that was of interest before, and is again.
                if service.and_then(|service| self.selection.interest.since(&service)) == Some(since) {
                    self.learn((kind, 0, WatchEvent::Applied(object)));
                }
            }
            News::Gone { kind, object } => self.learn((kind, 0, WatchEvent::Deleted(object))),
            News::Listed { kind, at, all } => self.relist(kind, at, all),
            News::Fetched { kind, service, since, all } => self.fetched(kind, &service, since, all),
        }
    }

    fn relist(&mut self, kind: Kind, at: u64, all: Vec<Value>) {
        let interrupted = self.objects.has_listed(kind);
        let interest = &self.selection.interest;
        let is_listed = |service: &Key| interest.since(service).is_some_and(|since| since <= at);
        let changes = self.objects.relist(kind, all, is_listed);
        self.listed(kind, interrupted);
        self.changed(&changes);
    }

    fn fetched(&mut self, kind: Kind, service: &Key, since: u64, all: Vec<Value>) {
        if self.selection.interest.since(service) != Some(since) {
            return;
        }
        let changes = self.objects.learn_part(kind, service, all);
        self.changed(&changes);
        if let Some(area) = self.area.as_ref().filter(|_| self.objects.has_fetched(service)) {
            let change = Change { key: service.clone(), before: None };
            self.schedule.extend(area.subjects(&self.objects, &change));
        }
    }
}

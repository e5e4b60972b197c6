//! Objects that are kept of some Services alone: of which, and how they are learned when another one comes.

use std::time::Duration;

use antrea_kit::backoff::{Backoff, jitter};
use antrea_kit::logging::chain;
use antrea_kit::watch::{WatchEvent, watch_each};
use antrea_mc_core::ids::NamespacedName;
use anyhow::Result;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use kube::Client;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{Engine, Part, QUEUE, ended};
use crate::area::Area;
use crate::interest::{Filter, Interest, News};
use crate::kind::Kind;
use crate::objects::{Change, Key, service_of};
use crate::send::Clients;
use crate::watches::{Watched, Watcher, Watches};

/// What is kept of some Services alone.
pub(super) struct Selection {
    watched: Vec<Watched>,
    /// Its watches. They begin when it is known for the first time of which Services.
    watches: Option<Watches>,
    interest: Interest,
    news: mpsc::Sender<News>,
    /// What watches tell of it.
    heard: mpsc::Receiver<News>,
    /// What is asked for of Services that have come since; nothing where nobody wants to know any more.
    fetches: FuturesUnordered<BoxFuture<'static, Option<News>>>,
}

impl Default for Selection {
    fn default() -> Self {
        let (news, heard) = mpsc::channel(QUEUE);
        let (interest, fetches) = (Interest::default(), FuturesUnordered::new());
        Self { watched: Vec::new(), watches: None, interest, news, heard, fetches }
    }
}

impl Selection {
    /// Whether objects of a kind say which Services are of interest.
    fn is_by(&self, kind: Kind) -> bool {
        self.watched.iter().any(|watched| watched.only == Some(kind))
    }

    fn start(&mut self, client: &Client) {
        let watch = |watched: &Watched| {
            let filter = Filter::new(watched.kind, self.interest.clone());
            watch_some(client.clone(), watched.clone(), filter, self.news.clone())
        };
        self.watches = Some(Watches::of(self.watched.iter().map(watch)));
    }

    fn fetch(&self, clients: &Clients, kind: Kind, service: &Key, since: u64) {
        let fetch = Fetch { clients: clients.clone(), kind, service: service.clone(), since };
        let interest = self.interest.clone();
        self.fetches.push(Box::pin(async move { fetch.until_answered(&interest).await }));
    }

    /// What is told of it next, by watches or by answers.
    ///
    /// # Errors
    /// A watch that ended.
    pub(super) async fn next(&mut self) -> Result<News> {
        loop {
            tokio::select! {
                error = ended(&mut self.watches) => return Err(error),
                Some(news) = self.heard.recv() => return Ok(news),
                Some(fetched) = self.fetches.next() => {
                    if let Some(news) = fetched {
                        return Ok(news);
                    }
                }
            }
        }
    }
}

async fn watch_some(client: Client, watched: Watched, mut filter: Filter, news: mpsc::Sender<News>) -> Kind {
    let (api, config, resource) = (watched.api(client), watched.config(), watched.kind.resource());
    let never = CancellationToken::new();
    // It says no more by its result than by its end.
    let _ = watch_each(&resource.kind, api, config, |event| filter.choose(event), news, never).await;
    watched.kind
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
    /// Begins to watch the objects of this cluster.
    pub(super) fn watch(&mut self) -> Watches {
        let (all, some): (Vec<Watched>, Vec<Watched>) =
            self.part.local().into_iter().partition(|watched| watched.only.is_none());
        self.selection.watched = some;
        Watcher { connection: 0, told: self.told.clone() }.start(&self.clients.local, &all)
    }

    /// Begins to watch what is kept of some Services alone, once it is known of which.
    pub(super) fn watch_selected(&mut self) {
        let is_known = |watched: &Watched| watched.only.is_none_or(|kind| self.objects.has_listed(kind));
        if self.selection.watches.is_none() && self.selection.watched.iter().all(is_known) {
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
        if self.selection.watches.is_none() {
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

//! A member's watch of ResourceImports. Every event is received and read as far as its name; nothing is kept but that
//! the import is known.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream::BoxStream;
use kube::Client;
use kube::api::{WatchEvent, WatchParams};
use kube::core::Request;
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::tally::Sight;
use crate::troubles::Troubles;

/// So long that only an API server which cannot keep up ends a watch.
const LONGEST_WATCH: u32 = 3600;
/// Everything that there is, and then what happens.
const FROM_THE_BEGINNING: &str = "0";
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// What was asked for is too long ago.
const GONE: u16 = 410;

type Events = BoxStream<'static, kube::Result<WatchEvent<Named>>>;

/// As much of an object as is read.
#[derive(Clone, Deserialize)]
struct Named {
    metadata: Metadata,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    resource_version: String,
}

/// What all readers share.
#[derive(Clone)]
pub(crate) struct Reading {
    /// The URL path of the collection.
    pub(crate) path: String,
    /// The numbers of imports, by name.
    pub(crate) imports: Arc<BTreeMap<String, usize>>,
    pub(crate) sights: mpsc::Sender<Sight>,
    pub(crate) troubles: Arc<Troubles>,
}

/// The watch of one member.
pub(crate) struct Reader {
    client: Client,
    reading: Reading,
    /// Which imports are known.
    known: Vec<bool>,
    /// Where the next watch begins.
    version: String,
}

impl Reader {
    pub(crate) fn new(client: Client, reading: Reading) -> Self {
        let known = vec![false; reading.imports.len()];
        Self { client, reading, known, version: FROM_THE_BEGINNING.to_owned() }
    }

    /// Begins to watch; the API server has answered. Goes on as long as the process.
    pub(crate) async fn start(self) -> kube::Result<()> {
        let events = self.open().await?;
        tokio::spawn(self.follow(events));
        Ok(())
    }

    async fn open(&self) -> kube::Result<Events> {
        let parameters = WatchParams { timeout: Some(LONGEST_WATCH), ..WatchParams::default() };
        let request = Request::new(self.reading.path.as_str()).watch(&parameters, &self.version);
        let events = self.client.request_events(request.map_err(kube::Error::BuildRequest)?).await?;
        Ok(events.boxed())
    }

    async fn follow(mut self, mut events: Events) {
        loop {
            self.read(&mut events).await;
            self.reading.troubles.ended_watch();
            events = loop {
                match self.open().await {
                    Ok(events) => break events,
                    Err(error) => self.heed(&error),
                }
                sleep(TRY_AGAIN).await;
            };
        }
    }

    /// Reads until the watch ends.
    async fn read(&mut self, events: &mut Events) {
        while let Some(event) = events.next().await {
            match event {
                Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                    self.see(object.metadata).await;
                }
                Ok(WatchEvent::Deleted(object)) => self.version = object.metadata.resource_version,
                Ok(WatchEvent::Bookmark(bookmark)) => self.version = bookmark.metadata.resource_version,
                Ok(WatchEvent::Error(status)) => return self.heed(&kube::Error::Api(status)),
                Err(error) => return self.heed(&error),
            }
        }
    }

    async fn see(&mut self, object: Metadata) {
        let at = Instant::now();
        self.version = object.resource_version;
        let Some(import) = self.reading.imports.get(&object.name).copied() else { return };
        let known = self.known.get_mut(import).map(|known| std::mem::replace(known, true));
        if known == Some(false) {
            // Nobody counts any more when members leave.
            let _ = self.reading.sights.send(Sight { import, at }).await;
        }
    }

    /// Where events are lost it begins anew, as members do that have to list again.
    fn heed(&mut self, error: &kube::Error) {
        if matches!(error, kube::Error::Api(status) if status.code == GONE) {
            FROM_THE_BEGINNING.clone_into(&mut self.version);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_event_only_the_name_is_read() {
        let line = r#"{"type":"ADDED","object":{"kind":"ResourceImport","metadata":{"name":"a","resourceVersion":"7","uid":"x"},"spec":{"kind":"Endpoints"}}}"#;
        let WatchEvent::Added(Named { metadata }) = serde_json::from_str(line).unwrap() else {
            panic!("{line}")
        };
        assert_eq!((metadata.name.as_str(), metadata.resource_version.as_str()), ("a", "7"));
    }
}

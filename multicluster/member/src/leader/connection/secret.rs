//! The watch of the one Secret that the member needs: it reads no other.

use std::future::pending;

use anyhow::Error;
use kube::Client;

use crate::kind::Kind;
use crate::watches::{Watched, Watcher, Watches};

pub(super) struct SecretWatch {
    local: Client,
    namespace: String,
    /// Its connection is a number that tells this watch from those before it.
    watcher: Watcher,
    /// The name, and the watch of it.
    present: Option<(String, Watches)>,
}

impl SecretWatch {
    /// For a Secret of `namespace`, of which the receiver of `watcher` is told.
    pub(super) fn new(local: &Client, namespace: &str, watcher: Watcher) -> Self {
        Self { local: local.clone(), namespace: namespace.to_owned(), watcher, present: None }
    }

    /// Watches the one with this name, if there is a name. Whether that is another one, of which nothing is known yet.
    pub(super) fn follow(&mut self, name: Option<&str>) -> bool {
        if name == self.present.as_ref().map(|(present, _)| present.as_str()) {
            return false;
        }
        let Some(name) = name else { return false };
        self.watcher.connection += 1;
        let watched = Watched::one(Kind::Secret, &self.namespace, name);
        self.present = Some((name.to_owned(), self.watcher.start(&self.local, &[watched])));
        true
    }

    /// Whether what a watch tells counts: one that has ended may have told something before.
    pub(super) fn takes(&self, kind: Kind, number: u64) -> bool {
        kind != Kind::Secret || number == self.watcher.connection
    }

    /// What became of the watch, which does not end by itself.
    pub(super) async fn ended(&mut self) -> Error {
        match &mut self.present {
            Some((_, watches)) => watches.ended().await,
            None => pending().await,
        }
    }
}

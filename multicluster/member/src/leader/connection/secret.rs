//! The watch of the one Secret that the member needs: it reads no other.

use kube::Client;
use tokio::sync::mpsc::WeakSender;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::kind::Kind;
use crate::watches::{Told, Watched, Watcher};

pub(super) struct SecretWatch {
    local: Client,
    namespace: String,
    told: WeakSender<Told>,
    stop: CancellationToken,
    /// The name, and what ends the watch of it.
    present: Option<(String, DropGuard)>,
    /// Tells this watch from those before it.
    number: u64,
}

impl SecretWatch {
    /// For a Secret of `namespace`; it ends with the watches of `watcher`.
    pub(super) fn new(local: &Client, namespace: &str, watcher: &Watcher) -> Self {
        Self {
            local: local.clone(),
            namespace: namespace.to_owned(),
            told: watcher.told.downgrade(),
            stop: watcher.stop.clone(),
            present: None,
            number: 0,
        }
    }

    /// Watches the one with this name, if there is a name. Whether that is another one, of which nothing is known yet.
    pub(super) fn follow(&mut self, name: Option<&str>) -> bool {
        if name == self.present.as_ref().map(|(present, _)| present.as_str()) {
            return false;
        }
        let (Some(name), Some(told)) = (name, self.told.upgrade()) else { return false };
        self.number += 1;
        let stop = self.stop.child_token();
        let watcher = Watcher { connection: self.number, told, stop: stop.clone() };
        watcher.start(&self.local, &[Watched::one(Kind::Secret, &self.namespace, name)]);
        self.present = Some((name.to_owned(), stop.drop_guard()));
        true
    }

    /// Whether what a watch tells counts: one that has ended may have told something before.
    pub(super) fn takes(&self, kind: Kind, number: u64) -> bool {
        kind != Kind::Secret || number == self.number
    }
}

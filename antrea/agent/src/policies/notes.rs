//! What the next agent has to know of policies: noted in OVSDB, where agents know about Pods from. With a port it is that
//! nothing is known of a Pod, with the bridge that the files do not say all that was enforced, though they seem to.

use std::collections::{BTreeMap, BTreeSet};

use antrea_agent_cni::flows::FlowError;
use antrea_agent_policy_files::Stored;
use antrea_ovs::ovsdb::{OvsDb, OvsDbError};
use antrea_types::InterfaceName;
use tracing::warn;

/// The key of external_ids, and its values: of a port, and of the bridge. Upstream's agent has no such key.
const POLICIES: &str = "antrea-policies";
const UNKNOWN: &str = "unknown";
const STORED: &str = "stored";
const NOT_STORED: &str = "not-stored";

/// The notes on a bridge and its ports.
#[derive(Clone)]
pub(crate) struct Notes {
    pub(super) database: OvsDb,
    pub(super) bridge: String,
}

impl Notes {
    /// The Pods that came while the controller was away, and of which nothing was said since.
    pub(super) fn unknown_pods(&self) -> BTreeSet<InterfaceName> {
        let ports = self.database.snapshot().ports(&self.bridge);
        let unknown = ports.into_iter().filter(|port| port.port.external_ids.contains_key(POLICIES));
        unknown.filter_map(|port| port.port.name.parse().ok()).collect()
    }

    /// What the port of a Pod says of which nothing is known.
    pub(super) fn of_an_unknown_pod() -> BTreeMap<String, String> {
        [(POLICIES.to_owned(), UNKNOWN.to_owned())].into()
    }

    /// Notes that nothing is known of a Pod, as soon as its port is there: ports and flows are made at the same time.
    pub(super) async fn note_unknown(&self, name: &InterfaceName) -> Result<(), FlowError> {
        let mut changed = self.database.changed();
        while self.database.snapshot().port(name.as_str()).is_none() {
            changed.changed().await?;
        }
        self.change(name, |notes| notes.extend(Self::of_an_unknown_pod())).await
    }

    /// Removes the notes on these Pods. Returns those whose notes could not be removed.
    pub(super) async fn forget(&self, names: BTreeSet<InterfaceName>) -> BTreeSet<InterfaceName> {
        let mut left = BTreeSet::new();
        for name in names {
            let forgotten = self.change(&name, |notes| _ = notes.remove(POLICIES)).await;
            // A port that is gone has no notes.
            if let Err(error) = forgotten
                && self.database.snapshot().port(name.as_str()).is_some()
            {
                warn!(port = %name, %error, "It stays noted that policies of a Pod are unknown");
                left.insert(name);
            }
        }
        left
    }

    /// Whether the files of the last agent say all that it enforced, as far as is noted.
    pub(super) fn stored(&self) -> Stored {
        let snapshot = self.database.snapshot();
        let note = snapshot.bridge(&self.bridge).and_then(|bridge| bridge.external_ids.get(POLICIES));
        if note.is_some_and(|note| note == NOT_STORED) { Stored::NotAll } else { Stored::All }
    }

    /// Notes whether the files say all that is enforced, unless the note says so already.
    pub(super) async fn note_stored(&self, stored: Stored) -> Result<(), OvsDbError> {
        if stored == self.stored() {
            return Ok(());
        }
        let value = match stored {
            Stored::All => STORED,
            Stored::NotAll => NOT_STORED,
        };
        self.database.set_bridge_external_id(&self.bridge, POLICIES, value).await
    }

    async fn change(
        &self,
        name: &InterfaceName,
        change: impl FnOnce(&mut BTreeMap<String, String>),
    ) -> Result<(), FlowError> {
        let port = self.database.snapshot().port(name.as_str());
        let mut notes = port.ok_or_else(|| format!("there is no port {name}"))?.port.external_ids.clone();
        change(&mut notes);
        Ok(self.database.set_port_external_ids(name.as_str(), &notes).await?)
    }
}

//! Whether the controller is connected, for those who tell it.

use std::collections::BTreeSet;
use std::sync::Arc;

use antrea_agent_policy::Watch;
use antrea_kit::health::Check;
use jiff::Timestamp;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::agent_info::ConnectionState;

/// Whether all watches are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkState {
    pub(crate) connection: ConnectionState,
    /// When that changed last; the start of the agent if it never did.
    pub(crate) since: Timestamp,
}

/// The watches that are connected. Copies are the same.
#[derive(Clone)]
pub(super) struct Connected(Arc<watch::Sender<Inner>>);

struct Inner {
    watches: BTreeSet<Watch>,
    state: LinkState,
}

impl Default for Connected {
    fn default() -> Self {
        let state = LinkState { connection: ConnectionState::Down, since: Timestamp::now() };
        Self(Arc::new(watch::Sender::new(Inner { watches: BTreeSet::new(), state })))
    }
}

impl Connected {
    pub(super) fn state(&self) -> LinkState {
        self.0.borrow().state
    }

    /// Sets a check to whether all watches are connected, until `stop`.
    pub(super) async fn tell(&self, check: Check, stop: CancellationToken) {
        let mut changes = self.0.subscribe();
        loop {
            match changes.borrow_and_update().state.connection {
                ConnectionState::Up => check.pass(),
                ConnectionState::Down => check.fail("some watches of antrea-controller are not connected"),
            }
            let Some(Ok(())) = stop.run_until_cancelled(changes.changed()).await else { return };
        }
    }

    pub(super) fn set(&self, watch: Watch, connection: ConnectionState, now: Timestamp) {
        self.0.send_if_modified(|inner| {
            match connection {
                ConnectionState::Up => inner.watches.insert(watch),
                ConnectionState::Down => inner.watches.remove(&watch),
            };
            let connection = match inner.watches.len() == Watch::ALL.len() {
                true => ConnectionState::Up,
                false => ConnectionState::Down,
            };
            let is_news = inner.state.connection != connection;
            if is_news {
                inner.state = LinkState { connection, since: now };
            }
            is_news
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_controller_is_connected_when_all_watches_are() {
        let connected = Connected::default();
        let start = connected.state().since;
        let at = |second| Timestamp::from_second(second).unwrap();
        let [policies, peers, targets] = Watch::ALL;
        let mut steps = Vec::new();
        for (second, watch, connection) in [
            (1, policies, ConnectionState::Up),
            (2, targets, ConnectionState::Up),
            (3, peers, ConnectionState::Up),
            (4, peers, ConnectionState::Up),
            (5, policies, ConnectionState::Down),
            (6, targets, ConnectionState::Down),
        ] {
            connected.set(watch, connection, at(second));
            let state = connected.state();
            steps.push((state.connection, state.since));
        }
        let (up, down) = (ConnectionState::Up, ConnectionState::Down);
        assert_eq!(
            steps,
            [(down, start), (down, start), (up, at(3)), (up, at(3)), (down, at(5)), (down, at(5))]
        );
    }
}

//! How often members had to do something again. A figure that was measured under trouble says so.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Counts of all members together.
#[derive(Debug, Default)]
pub(crate) struct Troubles {
    heartbeats: AtomicU32,
    exports: AtomicU32,
    watches: AtomicU32,
}

impl Troubles {
    /// A heartbeat was not answered in time, or refused.
    pub(crate) fn lost_heartbeat(&self) {
        self.heartbeats.fetch_add(1, Relaxed);
    }

    /// An export was refused, and is sent once more.
    pub(crate) fn refused_export(&self) {
        self.exports.fetch_add(1, Relaxed);
    }

    /// A watch ended, and was begun anew.
    pub(crate) fn ended_watch(&self) {
        self.watches.fetch_add(1, Relaxed);
    }

    /// How many watches ended.
    pub(crate) fn watches(&self) -> u32 {
        self.watches.load(Relaxed)
    }
}

impl fmt::Display for Troubles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [heartbeats, exports, watches] =
            [&self.heartbeats, &self.exports, &self.watches].map(|count| count.load(Relaxed));
        write!(
            f,
            "{heartbeats} heartbeats were lost, {exports} exports sent again, {watches} watches begun anew"
        )
    }
}

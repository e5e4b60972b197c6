//! What the leader learns: events of its watches, and answers to its requests.

use antrea_kit::watch::WatchEvent;
use antrea_shared_api::multicluster::v1alpha1::MemberClusterAnnounce;
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;

use crate::approvals::KnownAccount;
use crate::export::Export;
use crate::imports::Import;

/// Everything that can wake the leader up.
#[derive(Debug)]
pub(crate) enum Event {
    /// Of the watch of ClusterSets.
    ClusterSet(WatchEvent<ClusterSet>),
    /// Of the watch of ServiceAccounts.
    Account(WatchEvent<KnownAccount>),
    /// Of the watch of MemberClusterAnnounces.
    Announce(WatchEvent<MemberClusterAnnounce>),
    /// Of the watch of ResourceExports.
    Export(WatchEvent<Export>),
    /// Of the watch of ResourceImports.
    Import(WatchEvent<Box<Import>>),
    /// All announces as they are just now: the leader hears its members.
    Heard {
        /// The round in which they were asked for.
        asked: u64,
        announces: Vec<MemberClusterAnnounce>,
    },
    /// Announces cannot be read.
    Deaf,
    /// Time has passed; every second or so.
    Tick,
}

/// The object that a request was answered.
#[derive(Debug)]
pub(crate) enum Answer {
    /// After its status was written.
    ClusterSet(Box<ClusterSet>),
    /// After its finalizers were written.
    Announce(Box<MemberClusterAnnounce>),
    /// After its status or finalizers were written.
    Export(Box<Export>),
    /// After it was created or replaced.
    Import(Box<Import>),
    /// After something was deleted: the watch tells when it is gone.
    Nothing,
}

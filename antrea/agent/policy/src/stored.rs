//! What is kept in files: each object in one, enveloped as it came, named by its UID; and the Pods that the controller knows,
//! as its last bookmark named them.

use std::collections::BTreeSet;
use std::fmt;

use antrea_shared_api::controlplane::Round;
use antrea_shared_api::controlplane::v1beta2::{AddressGroup, AppliedToGroup, GroupMember, NetworkPolicy};
use antrea_shared_api::meta::Metadata;
use antrea_shared_api::protobuf::{DecodeError, decode};

use crate::Watch;
use crate::groups::Group;

/// What the file with the bookmark is called, where a UID would be: AppliedToGroups come by the same watch. No group has
/// such a UID.
pub(crate) const BOOKMARK: &str = "bookmark";

/// The file of an object, under the folder of all of them. It is written `address-groups/UID`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileName {
    watch: Watch,
    uid: String,
}

impl Watch {
    /// The folder of its objects.
    pub const fn folder(self) -> &'static str {
        match self {
            Self::NetworkPolicies => "network-policies",
            Self::AddressGroups => "address-groups",
            Self::AppliedToGroups => "applied-to-groups",
        }
    }
}

impl FileName {
    /// The file of an object with this UID. There is none for a UID that is more than letters, digits and `-`: what comes
    /// over the network must not choose a path.
    pub fn new(watch: Watch, uid: &str) -> Option<Self> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let fits = (1..=253).contains(&uid.len()) && uid.bytes().all(plain);
        fits.then(|| Self { watch, uid: uid.to_owned() })
    }

    /// The UID of the object.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// What it keeps.
    pub const fn watch(&self) -> Watch {
        self.watch
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.watch.folder(), self.uid)
    }
}

/// What is to be done with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// It has this content. Only the agent may read it: mode 0600.
    Write(FileName, Vec<u8>),
    /// It is not there.
    Remove(FileName),
}

/// An object that was kept.
#[derive(Clone, Debug, PartialEq)]
pub enum StoredObject {
    /// A policy.
    NetworkPolicy(NetworkPolicy),
    /// A group of peers.
    AddressGroup(AddressGroup),
    /// A group of what policies are applied to.
    AppliedToGroup(AppliedToGroup),
}

impl StoredObject {
    /// Reads a file from the folder of a watch.
    ///
    /// # Errors
    /// It is damaged, or of another kind.
    pub fn read(watch: Watch, content: &[u8]) -> Result<Self, DecodeError> {
        Ok(match watch {
            Watch::NetworkPolicies => Self::NetworkPolicy(decode(content)?),
            Watch::AddressGroups => Self::AddressGroup(decode(content)?),
            Watch::AppliedToGroups => Self::AppliedToGroup(decode(content)?),
        })
    }
}

/// A bookmark that names these Pods, to be kept.
pub(crate) fn bookmark(pods: &BTreeSet<String>) -> AppliedToGroup {
    let mut metadata = Metadata::new("", BOOKMARK);
    Round { number: 0, pods: Some(pods.iter().cloned().collect()) }.annotate(&mut metadata);
    AppliedToGroup { metadata, ..AppliedToGroup::default() }
}

/// The Pods that it names, if this is one that was kept.
pub(crate) fn known_pods(group: &AppliedToGroup) -> Option<BTreeSet<String>> {
    let round = (group.metadata.uid == BOOKMARK).then(|| Round::of(&group.metadata))??;
    Some(round.pods.unwrap_or_default().into_iter().collect())
}

pub(crate) fn address_group(group: &Group) -> AddressGroup {
    let (metadata, group_members) = parts(group);
    AddressGroup { metadata, group_members }
}

pub(crate) fn applied_to_group(group: &Group) -> AppliedToGroup {
    let (metadata, group_members) = parts(group);
    AppliedToGroup { metadata, group_members }
}

fn parts(group: &Group) -> (Metadata, Vec<GroupMember>) {
    (Metadata::new(&group.name, &group.uid), group.members().cloned().collect())
}

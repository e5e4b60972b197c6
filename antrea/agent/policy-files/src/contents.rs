//! What is in the folder, in few words: those of the seal.

use std::collections::{BTreeMap, BTreeSet};

use antrea_agent_policy::FileName;
use sha1::{Digest, Sha1};

/// How many bytes a digest has.
const DIGEST: usize = 20;

/// Which files are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Extent {
    /// There may be others, and others may be missing.
    #[default]
    Some,
    /// All that there are to be.
    All,
}

/// The files that are known to be in the folder, with digests of what they say.
#[derive(Debug, Default)]
pub(super) struct Contents {
    files: BTreeMap<FileName, [u8; DIGEST]>,
    pub(super) extent: Extent,
}

impl Contents {
    /// A file has this content, or is not there.
    pub(super) fn set(&mut self, name: &FileName, content: Option<&[u8]>) {
        match content {
            Some(content) => _ = self.files.insert(name.clone(), Sha1::digest(content).into()),
            None => _ = self.files.remove(name),
        }
    }

    /// There are no others, and what is missing is being written.
    pub(super) fn keep_only(&mut self, files: &BTreeSet<FileName>) {
        self.files.retain(|name, _| files.contains(name));
        self.extent = Extent::All;
    }

    /// What a seal says of these files, and of no others.
    pub(super) fn seal(&self) -> String {
        let mut all = Sha1::new();
        for (name, digest) in &self.files {
            all.update(format!("{name}\n"));
            all.update(digest);
        }
        format!("{} files, {:x}\n", self.files.len(), all.finalize())
    }
}

//! What is to be done with files, and has not been yet.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use antrea_agent_policy::{FileChange, FileName};

use crate::contents::Contents;
use crate::folder::Folder;

/// What is to be done. Of each file the last word counts, so that it never grows beyond what there is to keep.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// All other files are to go, before any is written.
    pub(super) only: Option<BTreeSet<FileName>>,
    /// The content that files are to have, or that they are not to be.
    pub(super) files: BTreeMap<FileName, Option<Vec<u8>>>,
}

impl Wanted {
    pub(super) fn is_empty(&self) -> bool {
        self.only.is_none() && self.files.is_empty()
    }

    pub(super) fn add(&mut self, changes: Vec<FileChange>) {
        for change in changes {
            let (name, content) = match change {
                FileChange::Write(name, content) => (name, Some(content)),
                FileChange::Remove(name) => (name, None),
            };
            self.set(name, content);
        }
    }

    fn set(&mut self, name: FileName, content: Option<Vec<u8>>) {
        if let (Some(only), Some(_)) = (&mut self.only, &content) {
            only.insert(name.clone());
        }
        self.files.insert(name, content);
    }

    pub(super) fn keep_only(&mut self, files: &BTreeSet<FileName>) {
        self.files.retain(|name, _| files.contains(name));
        self.only = Some(files.clone());
    }

    /// Does what can be done, and forgets it. The first error is told.
    pub(super) fn carry_out(&mut self, folder: &Folder, contents: &mut Contents) -> io::Result<()> {
        let mut outcome = Ok(());
        if let Some(only) = self.only.take() {
            outcome = folder.keep_only(&only);
            match outcome {
                Ok(()) => contents.keep_only(&only),
                Err(_) => self.only = Some(only),
            }
        }
        self.files.retain(|name, content| {
            let done = match content {
                Some(content) => folder.write(name, content),
                None => folder.remove(name),
            };
            let failed = done.is_err();
            if !failed {
                contents.set(name, content.as_deref());
            }
            if outcome.is_ok() {
                outcome = done;
            }
            failed
        });
        outcome
    }

    /// What was taken and could not be done is to be done still, unless something else is wanted since.
    pub(super) fn put_back(&mut self, left: Self) {
        let newer = std::mem::replace(self, left);
        if let Some(only) = &newer.only {
            self.keep_only(only);
        }
        newer.files.into_iter().for_each(|(name, content)| self.set(name, content));
    }
}

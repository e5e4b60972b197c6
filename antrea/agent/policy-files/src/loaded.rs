//! What an agent finds, and whether that is all.

use std::io;
use std::path::PathBuf;

use antrea_agent_policy::{FileName, StoredObject};
use tokio::task::JoinError;

/// What was kept.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The objects that could be read.
    pub objects: Vec<StoredObject>,
    /// Why they may not be all that was enforced. Without any of these, they are.
    pub doubts: Vec<Doubt>,
}

impl Loaded {
    /// Whether there was a controller when this was stored. An agent that has never heard of one leaves no seal, and no objects.
    pub fn tells_of_a_controller(&self) -> bool {
        let never_stored = |doubt: &Doubt| matches!(doubt, Doubt::NotSealed { .. });
        self.doubts.is_empty() || !self.objects.is_empty() || !self.doubts.iter().all(never_stored)
    }
}

/// Why files may not say what was enforced.
#[derive(Debug, thiserror::Error)]
pub enum Doubt {
    /// It was noted elsewhere.
    #[error("it is noted that an earlier agent could not store all that it enforced")]
    Noted,
    /// A file or a folder cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file does not say what it should.
    #[error("{file} is damaged: {problem}")]
    Damaged {
        /// Which one.
        file: FileName,
        /// What is wrong.
        problem: String,
    },
    /// There is no seal.
    #[error("there is no {}: an earlier agent was still storing, or there was none", path.display())]
    NotSealed {
        /// Where it would be.
        path: PathBuf,
    },
    /// The seal is of other files: some are missing, too many or changed.
    #[error("the files are not those that {} tells of", path.display())]
    OtherFiles {
        /// Where the seal is.
        path: PathBuf,
    },
    /// Reading did not come to its end.
    #[error("the files were not read to the end")]
    NotRead(#[source] JoinError),
}

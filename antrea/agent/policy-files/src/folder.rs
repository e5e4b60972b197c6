//! The folder of the files: what is read from it and done in it, by a thread that may wait for a disk.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, DirEntry, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use antrea_agent_policy::{FileName, StoredObject, Watch};
use antrea_kit::logging::chain;
use antrea_shared_api::meta::Metadata;
use antrea_shared_api::protobuf::LONGEST_FRAME;
use tracing::warn;

/// Only the agent reads and writes.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// What a file is called until it is whole. No object is called so.
const UNFINISHED: &str = ".unfinished";

/// A folder with one of files for each kind.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// All objects. What is no file of an object is left alone.
    pub(super) fn load(&self) -> Vec<StoredObject> {
        let mut objects = Vec::new();
        for watch in Watch::ALL {
            match self.names(watch) {
                Ok(names) => objects.extend(names.iter().filter_map(|name| self.load_one(name))),
                Err(error) => {
                    warn!(%error, folder = %self.folder(watch).display(), "Stored objects cannot be read");
                }
            }
        }
        objects
    }

    fn load_one(&self, name: &FileName) -> Option<StoredObject> {
        match read(&self.file(name)) {
            Ok(content) => {
                let problem = match StoredObject::read(name.watch(), &content) {
                    Ok(object) if metadata(&object).uid == name.uid() => return Some(object),
                    Ok(_) => "it is of another object".to_owned(),
                    Err(error) => chain(&error),
                };
                let removed = self.remove(name);
                warn!(file = %name, problem, removed = removed.is_ok(), "Stored object is damaged");
                None
            }
            Err(error) => {
                warn!(file = %name, %error, "Stored object cannot be read");
                None
            }
        }
    }

    /// Gives a file its content: all of it, or what it had stays.
    pub(super) fn write(&self, name: &FileName, content: &[u8]) -> io::Result<()> {
        let (folder, path) = (self.folder(name.watch()), self.file(name));
        let unfinished = folder.join(UNFINISHED);
        let written = match write(&unfinished, content) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                make(&self.path)?;
                make(&folder)?;
                write(&unfinished, content)
            }
            written => written,
        };
        let renamed = written.and_then(|()| fs::rename(&unfinished, &path));
        renamed.inspect_err(|_| {
            // It only takes room; the next one takes its place.
            let _ = fs::remove_file(&unfinished);
        })
    }

    /// Removes a file, if it is there.
    pub(super) fn remove(&self, name: &FileName) -> io::Result<()> {
        absent_is_fine(fs::remove_file(self.file(name)))
    }

    /// Removes the files of all other objects. The first error is told.
    pub(super) fn keep_only(&self, files: &BTreeSet<FileName>) -> io::Result<()> {
        let mut outcome = Ok(());
        for watch in Watch::ALL {
            let names = self.names(watch).unwrap_or_else(|error| {
                outcome = Err(error);
                Vec::new()
            });
            for name in names.iter().filter(|name| !files.contains(name)) {
                outcome = self.remove(name).and(outcome);
            }
        }
        outcome
    }

    /// The files of objects in the folder of a kind, in order.
    fn names(&self, watch: Watch) -> io::Result<Vec<FileName>> {
        let entries = match fs::read_dir(self.folder(watch)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let entries: Vec<DirEntry> = entries.collect::<io::Result<_>>()?;
        let files = entries.iter().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        let mut names: Vec<_> =
            files.filter_map(|entry| FileName::new(watch, entry.file_name().to_str()?)).collect();
        names.sort();
        Ok(names)
    }

    fn folder(&self, watch: Watch) -> PathBuf {
        self.path.join(watch.folder())
    }

    fn file(&self, name: &FileName) -> PathBuf {
        self.path.join(name.to_string())
    }
}

fn metadata(object: &StoredObject) -> &Metadata {
    match object {
        StoredObject::NetworkPolicy(policy) => &policy.metadata,
        StoredObject::AddressGroup(group) => &group.metadata,
        StoredObject::AppliedToGroup(group) => &group.metadata,
    }
}

/// Reads no more than an object can have.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.len() > LONGEST_FRAME as u64 {
        return Ok(Vec::new());
    }
    fs::read(path)
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file: File =
        OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(path)?;
    file.set_permissions(Permissions::from_mode(FILE_MODE))?;
    file.write_all(content)
}

fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)?;
    fs::set_permissions(folder, Permissions::from_mode(FOLDER_MODE))
}

fn absent_is_fine(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

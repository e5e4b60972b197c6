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

use crate::contents::Contents;
use crate::loaded::{Doubt, Loaded};

/// Only the agent reads and writes.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// What a file is called until it is whole. No object is called so.
const UNFINISHED: &str = ".unfinished";

/// The file that is there only while the others say all that is enforced, and says which they are.
const SEAL: &str = "seal";

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

    /// All objects, and what is known of their files then. What is no file of an object is left alone.
    pub(super) fn load(&self) -> (Loaded, Contents) {
        let (mut loaded, mut contents) = (Loaded::default(), Contents::default());
        for watch in Watch::ALL {
            let names = self.names(watch).unwrap_or_else(|source| {
                loaded.doubts.push(Doubt::Unreadable { path: self.folder(watch), source });
                Vec::new()
            });
            for name in names {
                match self.load_one(&name) {
                    Ok((object, content)) => {
                        contents.set(&name, Some(&content));
                        loaded.objects.push(object);
                    }
                    Err(doubt) => loaded.doubts.push(doubt),
                }
            }
        }
        if loaded.doubts.is_empty() {
            loaded.doubts.extend(self.check_seal(&contents).err());
        }
        (loaded, contents)
    }

    fn load_one(&self, name: &FileName) -> Result<(StoredObject, Vec<u8>), Doubt> {
        let path = self.file(name);
        let content = read(&path).map_err(|source| Doubt::Unreadable { path, source })?;
        let damaged = |problem| Doubt::Damaged { file: name.clone(), problem };
        match StoredObject::read(name.watch(), &content) {
            Ok(object) if metadata(&object).uid == name.uid() => Ok((object, content)),
            Ok(_) => Err(damaged("it is of another object".to_owned())),
            Err(error) => Err(damaged(chain(&error))),
        }
    }

    fn check_seal(&self, contents: &Contents) -> Result<(), Doubt> {
        let path = self.path.join(SEAL);
        match read(&path) {
            Ok(seal) if seal == contents.seal().as_bytes() => Ok(()),
            Ok(_) => Err(Doubt::OtherFiles { path }),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(Doubt::NotSealed { path }),
            Err(source) => Err(Doubt::Unreadable { path, source }),
        }
    }

    /// From here on the files say all that is enforced.
    pub(super) fn seal(&self, contents: &Contents) -> io::Result<()> {
        self.replace(&self.path, &self.path.join(SEAL), contents.seal().as_bytes())
    }

    /// From here on they may not.
    pub(super) fn unseal(&self) -> io::Result<()> {
        fs::remove_file(self.path.join(SEAL))
    }

    /// Gives a file its content: all of it, or what it had stays.
    pub(super) fn write(&self, name: &FileName, content: &[u8]) -> io::Result<()> {
        self.replace(&self.folder(name.watch()), &self.file(name), content)
    }

    fn replace(&self, folder: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
        let unfinished = folder.join(UNFINISHED);
        let written = match write(&unfinished, content) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                make(&self.path)?;
                make(folder)?;
                write(&unfinished, content)
            }
            written => written,
        };
        let renamed = written.and_then(|()| fs::rename(&unfinished, path));
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

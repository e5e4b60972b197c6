//! What the files of a state directory say, read once each: many Pods come at once, and each asks who holds what.
//!
//! Listing a directory is one system call for a hundred files, reading them is three or four each. A file that has its
//! name and its inode has its content too, since nobody writes one twice; what an action relies on is read again anyway.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::DirEntryExt;
use std::path::Path;

use super::{IpamError, Owner};

/// The files named after an address, as they were when they were listed last.
#[derive(Debug, Default)]
pub(super) struct AddressFiles(BTreeMap<IpAddr, AddressFile>);

#[derive(Debug)]
struct AddressFile {
    inode: u64,
    holder: Owner,
}

impl AddressFiles {
    /// Lists the directory, reads the files that are new in it, and returns how many these were.
    pub(super) fn refresh(&mut self, directory: &Path) -> Result<usize, IpamError> {
        let failed = |path: &Path, error| IpamError::Io { action: "read", path: path.to_owned(), error };
        let mut known = std::mem::take(&mut self.0);
        let mut read = 0;
        for entry in fs::read_dir(directory).map_err(|error| failed(directory, error))? {
            let entry = entry.map_err(|error| failed(directory, error))?;
            let Some(address) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let file = match known.remove(&address) {
                Some(file) if file.inode == entry.ino() => file,
                _ => {
                    read += 1;
                    let holder = read_holder(&entry.path()).map_err(|error| failed(&entry.path(), error))?;
                    AddressFile { inode: entry.ino(), holder }
                }
            };
            self.0.insert(address, file);
        }
        Ok(read)
    }

    /// Forgets what the files say, so that all of them are read the next time.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    pub(super) fn holds(&self, address: IpAddr) -> bool {
        self.0.contains_key(&address)
    }

    /// The addresses of an interface.
    pub(super) fn of(&self, owner: &Owner) -> Vec<IpAddr> {
        let of_owner = self.0.iter().filter(|(_, file)| file.holder.covers(owner));
        of_owner.map(|(address, _)| *address).collect()
    }

    /// All addresses with their holders.
    pub(super) fn holders(&self) -> BTreeMap<IpAddr, Owner> {
        self.0.iter().map(|(address, file)| (*address, file.holder.clone())).collect()
    }
}

/// Reads who holds an address. An empty file, left by a crash, has a holder without a name.
pub(super) fn read_holder(path: &Path) -> std::io::Result<Owner> {
    let content = fs::read(path)?;
    let content = String::from_utf8_lossy(&content);
    Ok(match content.trim().split_once("\r\n") {
        Some((container_id, interface)) => Owner::new(container_id.trim(), interface.trim()),
        None => Owner { container_id: content.trim().to_owned(), interface: None },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_once_however_often_the_directory_is_listed() {
        let directory = tempfile::tempdir().unwrap();
        let write = |address: &str, holder: &str| fs::write(directory.path().join(address), holder).unwrap();
        let mut files = AddressFiles::default();
        (2..62).for_each(|last| write(&format!("10.0.0.{last}"), "c\r\neth0"));
        write("last_reserved_ip.0", "10.0.0.61");
        assert_eq!(files.refresh(directory.path()).unwrap(), 60);
        assert_eq!(files.refresh(directory.path()).unwrap(), 0);
        write("10.0.0.62", "d\r\neth0");
        fs::remove_file(directory.path().join("10.0.0.2")).unwrap();
        assert_eq!(files.refresh(directory.path()).unwrap(), 1);
        assert_eq!(files.of(&Owner::new("d", "eth0")), ["10.0.0.62".parse::<IpAddr>().unwrap()]);
        assert!(!files.holds("10.0.0.2".parse().unwrap()));
        files.forget();
        assert_eq!(files.refresh(directory.path()).unwrap(), 60);
    }

    #[test]
    fn a_file_in_the_place_of_another_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("10.0.0.2");
        fs::write(&path, "c\r\neth0").unwrap();
        let mut files = AddressFiles::default();
        files.refresh(directory.path()).unwrap();
        // Both exist for a moment, so that the kernel cannot give the second one the inode of the first.
        fs::write(directory.path().join("new"), "d\r\neth0").unwrap();
        fs::rename(directory.path().join("new"), &path).unwrap();
        assert_eq!(files.refresh(directory.path()).unwrap(), 1);
        assert_eq!(files.of(&Owner::new("c", "eth0")), Vec::<IpAddr>::new());
    }
}

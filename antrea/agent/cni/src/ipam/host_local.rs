//! The state of the standard `host-local` plugin, read and written as it does.
//!
//! A directory holds one file for each allocated address, named after it, with the container's id, CR LF and the
//! interface's name; `last_reserved_ip.N` with the address given out last from range N; and `lock`, on which everybody
//! who changes anything holds a `flock`. There is no other memory: a Node that the plugin itself served is taken over.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ipnet::IpNet;

use super::range::AddressRange;
use super::{Allocation, IpamError, Owner};

/// Where the state is on every Node; `antrea` is the name of the network.
pub const DEFAULT_DIRECTORY: &str = "/var/lib/cni/networks/antrea";

/// Allocates one address from each of the Node's Pod CIDRs to each interface.
#[derive(Clone, Debug)]
pub struct HostLocal {
    directory: PathBuf,
    ranges: Vec<AddressRange>,
}

impl HostLocal {
    /// The state in `directory` for the Node's Pod CIDRs, IPv4 before IPv6 (the order numbers `last_reserved_ip.N`).
    ///
    /// # Errors
    /// Without a Pod CIDR, or with one that is too small.
    pub fn new(
        directory: impl Into<PathBuf>,
        pod_cidrs: impl IntoIterator<Item = IpNet>,
    ) -> Result<Self, IpamError> {
        let ranges: Vec<_> = pod_cidrs.into_iter().map(AddressRange::of).collect::<Result<_, _>>()?;
        match ranges.is_empty() {
            true => Err(IpamError::NoPodCidr),
            false => Ok(Self { directory: directory.into(), ranges }),
        }
    }

    /// The ranges that addresses come from.
    pub fn ranges(&self) -> &[AddressRange] {
        &self.ranges
    }

    /// The addresses of an interface: those it has, and a new one from each range that it has none from.
    ///
    /// # Errors
    /// When a range is exhausted or the state cannot be written; what was newly reserved is released then.
    pub fn allocate(&self, owner: &Owner) -> Result<Vec<Allocation>, IpamError> {
        let _lock = self.lock()?;
        let held = self.read()?;
        let mut allocations = Vec::new();
        let mut reserved = Vec::new();
        for (index, range) in self.ranges.iter().enumerate() {
            let present = held.iter().filter(|(_, holder)| holder.covers(owner));
            let present = present.filter_map(|(address, _)| range.allocation(*address)).next();
            let allocation = present.map_or_else(
                || {
                    self.reserve_from(index, range, &held, owner)
                        .inspect(|new| reserved.push(new.address.addr()))
                },
                Ok,
            );
            match allocation {
                Ok(allocation) => allocations.push(allocation),
                Err(error) => {
                    // The error to tell is the first one.
                    reserved.iter().for_each(|address| drop(self.remove(*address)));
                    return Err(error);
                }
            }
        }
        Ok(allocations)
    }

    /// Releases all addresses of an interface and returns them; none is no error.
    ///
    /// # Errors
    /// When the state cannot be read or written.
    pub fn release(&self, owner: &Owner) -> Result<Vec<IpAddr>, IpamError> {
        let _lock = self.lock()?;
        let held = self.read()?.into_iter().filter(|(_, holder)| holder.covers(owner));
        held.map(|(address, _)| self.remove(address).map(|()| address)).collect()
    }

    /// Releases one address, unless it has got another holder in the meantime.
    ///
    /// # Errors
    /// When the state cannot be read or written.
    pub fn release_address(&self, address: IpAddr, holder: &Owner) -> Result<(), IpamError> {
        let _lock = self.lock()?;
        match self.read()?.get(&address) {
            Some(current) if current == holder => self.remove(address),
            _ => Ok(()),
        }
    }

    /// All addresses that are reserved, with their holders.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn allocations(&self) -> Result<BTreeMap<IpAddr, Owner>, IpamError> {
        let _lock = self.lock()?;
        self.read()
    }

    fn reserve_from(
        &self,
        index: usize,
        range: &AddressRange,
        held: &BTreeMap<IpAddr, Owner>,
        owner: &Owner,
    ) -> Result<Allocation, IpamError> {
        let last_file = self.directory.join(format!("last_reserved_ip.{index}"));
        // Lost or damaged, it costs only the round robin.
        let last = fs::read_to_string(&last_file).ok().and_then(|text| text.trim().parse().ok());
        let mut free = range.candidates(last).filter(|address| !held.contains_key(address));
        let address = free.next().ok_or(IpamError::Exhausted(range.net()))?;
        let allocation = range.allocation(address).ok_or(IpamError::Exhausted(range.net()))?;
        self.write(address, owner)?;
        match fs::write(&last_file, address.to_string()) {
            Ok(()) => Ok(allocation),
            Err(error) => {
                self.remove(address)?;
                Err(IpamError::Io { action: "write", path: last_file, error })
            }
        }
    }

    /// The lock is held until what is returned is dropped.
    fn lock(&self) -> Result<File, IpamError> {
        let path = self.directory.join("lock");
        let open = || -> io::Result<File> {
            fs::create_dir_all(&self.directory)?;
            let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o750).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        open().map_err(|error| IpamError::Io { action: "lock", path: path.clone(), error })
    }

    /// Reads all files named after an address.
    fn read(&self) -> Result<BTreeMap<IpAddr, Owner>, IpamError> {
        let failed = |path: &Path, error| IpamError::Io { action: "read", path: path.to_owned(), error };
        let mut held = BTreeMap::new();
        for entry in fs::read_dir(&self.directory).map_err(|error| failed(&self.directory, error))? {
            let entry = entry.map_err(|error| failed(&self.directory, error))?;
            let Some(address) = entry.file_name().to_str().and_then(|name| name.parse::<IpAddr>().ok())
            else {
                continue;
            };
            let content = fs::read(entry.path()).map_err(|error| failed(&entry.path(), error))?;
            held.insert(address, parse_holder(&String::from_utf8_lossy(&content)));
        }
        Ok(held)
    }

    fn write(&self, address: IpAddr, owner: &Owner) -> Result<(), IpamError> {
        let path = self.directory.join(address.to_string());
        let content = format!("{}\r\n{}", owner.container_id, owner.interface.as_deref().unwrap_or_default());
        let create = || -> io::Result<()> {
            let mut file = OpenOptions::new().create_new(true).write(true).mode(0o644).open(&path)?;
            file.write_all(content.as_bytes()).inspect_err(|_| drop(fs::remove_file(&path)))
        };
        create().map_err(|error| IpamError::Io { action: "write", path: path.clone(), error })
    }

    fn remove(&self, address: IpAddr) -> Result<(), IpamError> {
        let path = self.directory.join(address.to_string());
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(IpamError::Io { action: "remove", path, error })
            }
            _ => Ok(()),
        }
    }
}

/// Reads the content of an address's file. An empty one, left by a crash, has a holder without a name.
fn parse_holder(content: &str) -> Owner {
    match content.trim().split_once("\r\n") {
        Some((container_id, interface)) => Owner::new(container_id.trim(), interface.trim()),
        None => Owner { container_id: content.trim().to_owned(), interface: None },
    }
}

#[cfg(test)]
mod tests;

//! The state of the standard `host-local` plugin, read and written as it does.
//!
//! A directory holds one file for each allocated address, named after it, with the container's id, CR LF and the
//! interface's name; `last_reserved_ip.N` with the address given out last from range N; and `lock`, on which everybody
//! who changes anything holds a `flock`. There is no other memory: a Node that the plugin itself served is taken over.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ipnet::IpNet;

use super::address_files::{AddressFiles, read_holder};
use super::range::AddressRange;
use super::{Allocation, IpamError, Owner};

/// Where the state is on every Node; `antrea` is the name of the network.
pub const DEFAULT_DIRECTORY: &str = "/var/lib/cni/networks/antrea";

/// Allocates one address from each of the Node's Pod CIDRs to each interface.
#[derive(Clone, Debug)]
pub struct HostLocal {
    directory: PathBuf,
    ranges: Vec<AddressRange>,
    files: Arc<Mutex<AddressFiles>>,
}

/// The state while nobody else changes it.
struct Locked<'a> {
    files: MutexGuard<'a, AddressFiles>,
    _lock: File,
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
            false => Ok(Self { directory: directory.into(), ranges, files: Arc::default() }),
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
        let mut state = self.lock()?;
        state.files.refresh(&self.directory)?;
        let held = self.verified(&state.files, owner)?;
        let mut allocations = Vec::new();
        let mut reserved = Vec::new();
        for (index, range) in self.ranges.iter().enumerate() {
            let present = held.iter().find_map(|address| range.allocation(*address));
            let allocation = present.map_or_else(
                || {
                    self.reserve_from(index, range, &state.files, owner)
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

    /// The addresses of an interface; there need not be any.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn held_by(&self, owner: &Owner) -> Result<Vec<IpAddr>, IpamError> {
        let mut state = self.lock()?;
        state.files.refresh(&self.directory)?;
        let mut held = self.verified(&state.files, owner)?;
        if held.is_empty() {
            state.files.forget();
            state.files.refresh(&self.directory)?;
            held = state.files.of(owner);
        }
        Ok(held)
    }

    /// Releases one address of an interface, unless it has got another holder in the meantime.
    ///
    /// # Errors
    /// When the state cannot be read or written.
    pub fn release_address(&self, address: IpAddr, owner: &Owner) -> Result<(), IpamError> {
        let _state = self.lock()?;
        match self.holder(address)? {
            Some(current) if current.covers(owner) => self.remove(address),
            _ => Ok(()),
        }
    }

    /// All addresses that are reserved, with their holders.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn allocations(&self) -> Result<BTreeMap<IpAddr, Owner>, IpamError> {
        let mut state = self.lock()?;
        state.files.forget();
        state.files.refresh(&self.directory)?;
        Ok(state.files.holders())
    }

    /// Of the addresses, those that are not reserved for an interface.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn not_held_by(&self, owner: &Owner, addresses: &[IpAddr]) -> Result<Vec<IpAddr>, IpamError> {
        let mut missing = addresses.to_vec();
        for address in addresses {
            if self.holder(*address)?.is_some_and(|holder| holder.covers(owner)) {
                missing.retain(|other| other != address);
            }
        }
        Ok(missing)
    }

    /// The addresses of an interface, by their files as they are now.
    fn verified(&self, files: &AddressFiles, owner: &Owner) -> Result<Vec<IpAddr>, IpamError> {
        let mut held = files.of(owner);
        for address in held.clone() {
            if !self.holder(address)?.is_some_and(|holder| holder.covers(owner)) {
                held.retain(|other| *other != address);
            }
        }
        Ok(held)
    }

    /// Who holds an address, by its file as it is now.
    fn holder(&self, address: IpAddr) -> Result<Option<Owner>, IpamError> {
        let path = self.directory.join(address.to_string());
        match read_holder(&path) {
            Ok(holder) => Ok(Some(holder)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(IpamError::Io { action: "read", path, error }),
        }
    }

    fn reserve_from(
        &self,
        index: usize,
        range: &AddressRange,
        files: &AddressFiles,
        owner: &Owner,
    ) -> Result<Allocation, IpamError> {
        let last_file = self.directory.join(format!("last_reserved_ip.{index}"));
        // Lost or damaged, it costs only the round robin.
        let last = fs::read_to_string(&last_file).ok().and_then(|text| text.trim().parse().ok());
        let mut free = range.candidates(last).filter(|address| !files.holds(*address));
        let address = free.next().ok_or(IpamError::Exhausted(range.net()))?;
        let allocation = range.allocation(address).ok_or(IpamError::Exhausted(range.net()))?;
        self.write(address, owner)?;
        match overwrite(&last_file, &address.to_string()) {
            Ok(()) => Ok(allocation),
            Err(error) => {
                self.remove(address)?;
                Err(IpamError::Io { action: "write", path: last_file, error })
            }
        }
    }

    /// The lock is held until what is returned is dropped. Within this process it is waited for, which takes as long as
    /// a few files; while another program holds it there is [`IpamError::Held`].
    fn lock(&self) -> Result<Locked<'_>, IpamError> {
        // What the files say is whole at any time.
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.directory.join("lock");
        let failed = |error| IpamError::Io { action: "lock", path: path.clone(), error };
        let open = || -> io::Result<File> {
            fs::create_dir_all(&self.directory)?;
            OpenOptions::new().create(true).truncate(false).write(true).mode(0o750).open(&path)
        };
        let lock = open().map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Locked { files, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(IpamError::Held(path)),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
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

/// Writes a file without making it empty first: that waits for the disk where the content before is on its way there, as
/// it is when many Pods come at once.
fn overwrite(path: &Path, content: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
    file.write_all(content.as_bytes())?;
    let length = u64::try_from(content.len()).map_err(io::Error::other)?;
    if file.metadata()?.len() > length { file.set_len(length) } else { Ok(()) }
}

#[cfg(test)]
mod tests;

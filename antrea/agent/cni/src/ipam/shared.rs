//! The IPAM state as tasks of a runtime use it: one at a time, and a disk that takes long keeps no other task waiting.

use antrea_host::blocking;
use tokio::sync::Mutex;

use super::IpamError;
use super::host_local::HostLocal;
use super::range::AddressRange;

/// The state, for all who carry out commands.
#[derive(Debug)]
pub(crate) struct SharedIpam {
    state: HostLocal,
    /// Held by who works on the state: others wait without a thread.
    turn: Mutex<()>,
}

impl SharedIpam {
    pub(crate) fn new(state: HostLocal) -> Self {
        Self { state, turn: Mutex::new(()) }
    }

    /// Works on the state, at once where nobody else does: another thread would take longer to come than the work does.
    pub(crate) async fn work<T>(
        &self,
        work: impl FnOnce(&HostLocal) -> Result<T, IpamError>,
    ) -> Result<T, IpamError> {
        let _turn = self.turn.lock().await;
        blocking(|| work(&self.state))
    }

    /// The ranges that addresses come from.
    pub(crate) fn ranges(&self) -> &[AddressRange] {
        self.state.ranges()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;
    use crate::ipam::Owner;

    const PATIENCE: Duration = Duration::from_secs(5);

    #[test]
    fn a_file_that_cannot_be_read_yet_leaves_the_runtime_answering() {
        let directory = tempfile::tempdir().unwrap();
        // Whoever opens it waits for somebody who writes.
        let slow = directory.path().join("10.0.0.2");
        mkfifo(&slow, Mode::S_IRWXU).unwrap();
        let state = HostLocal::new(directory.path(), ["10.0.0.0/29".parse().unwrap()]).unwrap();
        let ipam = Arc::new(SharedIpam::new(state));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let commands: Vec<_> = (0..4)
            .map(|number| {
                let (ipam, owner) = (Arc::clone(&ipam), Owner::new(format!("c{number}"), "eth0"));
                runtime.spawn(async move { ipam.work(|ipam| ipam.allocate(&owner)).await })
            })
            .collect();
        while ipam.turn.try_lock().is_ok() {
            std::thread::yield_now();
        }
        let (answer, answered) = channel();
        runtime.spawn(async move { answer.send(()) });
        let outcome = answered.recv_timeout(PATIENCE);
        // It opens as soon as somebody reads, and says that nobody has the address.
        drop(File::options().write(true).open(&slow).unwrap());
        assert_eq!(outcome, Ok(()), "the other task waits for the disk");
        for command in commands {
            assert_eq!(runtime.block_on(command).unwrap().unwrap().len(), 1, "all others are left");
        }
    }
}

//! Network namespaces: opening them, and running code in one.
//!
//! A thread changes its namespace with setns(2). Threads of the runtime never do: each visit has a thread of its own,
//! which ends with it. Sockets stay in the namespace that they were opened in, so most visits only open some.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::sched::{CloneFlags, setns};
use nix::sys::statfs::{NSFS_MAGIC, fstatfs};
use tokio::sync::oneshot;

/// A network namespace, kept alive as long as this value.
#[derive(Clone, Debug)]
pub struct Netns {
    file: Arc<File>,
    path: PathBuf,
}

/// A network namespace cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NetnsError {
    /// The path cannot be opened.
    #[error("cannot open the network namespace {path}")]
    Open {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The path is something else. What a deleted namespace leaves behind is an ordinary file.
    #[error("{0} is not a network namespace: it may have been deleted already")]
    NotNetns(PathBuf),
    /// The namespace cannot be entered.
    #[error("cannot enter the network namespace {path}; this needs CAP_SYS_ADMIN")]
    Enter {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// There is no thread to work in the namespace, or the work panicked.
    #[error("cannot work in the network namespace {path}")]
    Visit {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl Netns {
    /// Opens a namespace by its path, such as `/var/run/netns/NAME` or `/proc/PID/ns/net`.
    ///
    /// # Errors
    /// The path does not exist or is not a namespace.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, NetnsError> {
        let path = path.as_ref().to_path_buf();
        let open_error = |source| NetnsError::Open { path: path.clone(), source };
        let file = File::open(&path).map_err(open_error)?;
        let filesystem = fstatfs(&file).map_err(|errno| open_error(errno.into()))?.filesystem_type();
        if filesystem != NSFS_MAGIC {
            return Err(NetnsError::NotNetns(path));
        }
        Ok(Self { file: Arc::new(file), path })
    }

    /// The namespace that the calling thread is in.
    ///
    /// # Errors
    /// /proc is not mounted.
    pub fn current() -> Result<Self, NetnsError> {
        Self::open("/proc/thread-self/ns/net")
    }

    /// Whether there is a namespace at a path.
    pub fn exists(path: impl AsRef<Path>) -> bool {
        Self::open(path).is_ok()
    }

    /// The path that the namespace was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `work` in the namespace, on a thread that ends with it.
    ///
    /// # Errors
    /// The thread cannot be started or enter the namespace, or `work` panicked.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NetnsError> {
        let namespace = self.clone();
        let visit = on_own_thread(move || namespace.enter().map(|()| work())).await;
        visit.map_err(|source| NetnsError::Visit { path: self.path.clone(), source })?
    }

    /// Moves the calling thread, for good.
    fn enter(&self) -> Result<(), NetnsError> {
        setns(self.file.as_fd(), CloneFlags::CLONE_NEWNET)
            .map_err(|errno| NetnsError::Enter { path: self.path.clone(), source: errno.into() })
    }
}

impl AsFd for Netns {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Runs `work` on a thread that ends with it.
pub(crate) async fn on_own_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let (sender, receiver) = oneshot::channel();
    let run = move || {
        // Nobody waits any more where the caller was cancelled.
        let _ = sender.send(work());
    };
    std::thread::Builder::new().name("netns".to_owned()).spawn(run)?;
    receiver.await.map_err(|_| io::Error::other("the work ended without a result"))
}

//! The CNI server: the agent's end of the socket that the plugin calls.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use antrea_cni::error::CniError;
use antrea_cni::proto::cni_server::{Cni, CniServer as GrpcService};
use antrea_cni::proto::{CniCmdRequest, CniCmdResponse, ErrorCode};
use tokio::net::UnixListener;
use tokio::sync::Semaphore;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::{Request, Response, Status};
use tracing::{Instrument, error, info, info_span};

use crate::commands::{Commands, Dependencies};
use crate::gc::GcRequest;
use crate::reconcile::{Inventory, NodePod, collect, restore};
use crate::request::{AttachRequest, DetachRequest};
use crate::settings::Settings;
use crate::status;

/// Commands that may run or wait at a time; a Node has a few hundred Pods at most.
const CAPACITY: usize = 512;

/// The plugin makes a connection for each command; one that stays is asked to go.
const CONNECTION_AGE: Duration = Duration::from_secs(300);

/// Commands on one connection at a time.
const STREAMS: u32 = 64;

/// Only root, and its group, may call: upstream's permissions.
const SOCKET_MODE: u32 = 0o750;

/// The CNI server. Clones share all state.
#[derive(Clone)]
pub struct CniServer {
    commands: Arc<Commands>,
    capacity: Arc<Semaphore>,
}

/// The server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The socket cannot be made.
    #[error("cannot listen on the CNI socket {}", path.display())]
    Listen {
        /// The socket.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// Serving ended.
    #[error("the CNI server failed")]
    Serve(#[source] tonic::transport::Error),
}

impl CniServer {
    /// A server that does not listen yet.
    pub fn new(settings: Settings, dependencies: Dependencies) -> Self {
        let commands = Arc::new(Commands::new(settings, dependencies));
        Self { commands, capacity: Arc::new(Semaphore::new(CAPACITY)) }
    }

    /// Fills the interface store from OVSDB and lists what is there. To be called once, before [`Self::serve`].
    ///
    /// # Errors
    /// When OVSDB, kernel or IPAM state cannot be read.
    pub async fn inventory(&self) -> Result<Inventory, CniError> {
        self.commands.inventory().await
    }

    /// Installs the flows of Pods that are there, and removes interfaces whose link is gone. Returns what failed.
    pub async fn restore(&self, inventory: &Inventory) -> Vec<CniError> {
        self.commands.apply(restore(inventory)).await
    }

    /// Removes what Pods that are gone have left, given the Pods of this Node as the API server lists them. Commands
    /// may run at the same time: what they changed since the inventory is left alone. Returns what failed.
    pub async fn collect(&self, inventory: &Inventory, pods: &[NodePod]) -> Vec<CniError> {
        self.commands.apply(collect(inventory, pods)).await
    }

    /// Follows changes of port numbers: to be called when OVSDB changes or the switch comes back. Returns what failed.
    ///
    /// # Errors
    /// When the ports cannot be read.
    pub async fn sync_port_numbers(&self) -> Result<Vec<CniError>, CniError> {
        self.commands.sync_port_numbers().await
    }

    /// Makes ports of Pods again that somebody has deleted: to be called when OVSDB changes. Returns what failed.
    pub async fn plug_in_again(&self) -> Vec<CniError> {
        self.commands.plug_in_again().await
    }

    /// Waits until no address of an interface that is gone waits to be given back.
    pub async fn settled(&self) {
        self.commands.giving_back.wait().await;
    }

    /// Answers commands until `shutdown` is there; those that run then are finished.
    ///
    /// # Errors
    /// When the socket cannot be made or serving fails.
    pub async fn serve(self, socket: &Path, shutdown: impl Future<Output = ()>) -> Result<(), ServeError> {
        let listener =
            listen(socket).map_err(|error| ServeError::Listen { path: socket.to_owned(), error })?;
        tonic::transport::Server::builder()
            .max_connection_age(CONNECTION_AGE)
            .max_concurrent_streams(STREAMS)
            .serve_with_incoming_shutdown(GrpcService::new(self), UnixListenerStream::new(listener), shutdown)
            .await
            .map_err(ServeError::Serve)
    }

    /// Runs a command as a task of its own: when the caller goes away half way, it still comes to an end, done or
    /// rolled back.
    async fn run<T: Send + 'static>(
        &self,
        name: &'static str,
        command: impl Future<Output = Result<T, CniError>> + Send + 'static,
    ) -> Result<T, CniError> {
        let permit = Arc::clone(&self.capacity).try_acquire_owned().map_err(|_| {
            CniError::new(ErrorCode::TryAgainLater, format!("antrea-agent is busy with {CAPACITY} commands"))
        })?;
        let task = async move {
            let _permit = permit;
            let begun = Instant::now();
            let outcome = command.await;
            match &outcome {
                Ok(_) => info!(microseconds = begun.elapsed().as_micros(), "CNI command done"),
                Err(error) => error!(%error, "CNI command failed"),
            }
            outcome
        };
        let outcome = tokio::spawn(task.instrument(info_span!("cni", command = name))).await;
        outcome.unwrap_or_else(|_| {
            Err(CniError::new(ErrorCode::Unknown, "the command did not end; antrea-agent's log says more"))
        })
    }
}

/// Makes the socket beside its place and renames it over one that a former agent left, so that it is never there with
/// other permissions.
fn listen(socket: &Path) -> io::Result<UnixListener> {
    if let Some(directory) = socket.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let temporary = socket.with_extension(format!("{}", std::process::id()));
    if let Err(error) = std::fs::remove_file(&temporary)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let listener = UnixListener::bind(&temporary)?;
    std::fs::set_permissions(&temporary, Permissions::from_mode(SOCKET_MODE))?;
    std::fs::rename(&temporary, socket)?;
    Ok(listener)
}

fn respond(outcome: Result<Vec<u8>, CniError>) -> Response<CniCmdResponse> {
    Response::new(match outcome {
        Ok(cni_result) => CniCmdResponse { cni_result, error: None },
        Err(error) => error.into(),
    })
}

#[tonic::async_trait]
impl Cni for CniServer {
    async fn cmd_add(&self, request: Request<CniCmdRequest>) -> Result<Response<CniCmdResponse>, Status> {
        let commands = Arc::clone(&self.commands);
        let command = async move {
            let request = AttachRequest::parse(request.into_inner())?;
            let result = commands.add(&request).await?;
            Ok(result.to_json(request.config.version).to_string().into_bytes())
        };
        Ok(respond(self.run("ADD", command).await))
    }

    async fn cmd_check(&self, request: Request<CniCmdRequest>) -> Result<Response<CniCmdResponse>, Status> {
        let commands = Arc::clone(&self.commands);
        let command = async move {
            let request = AttachRequest::parse(request.into_inner())?;
            commands.check(&request).await.map(|()| Vec::new())
        };
        Ok(respond(self.run("CHECK", command).await))
    }

    async fn cmd_del(&self, request: Request<CniCmdRequest>) -> Result<Response<CniCmdResponse>, Status> {
        let commands = Arc::clone(&self.commands);
        let command = async move {
            let request = DetachRequest::parse(request.into_inner())?;
            commands.del(&request).await.map(|()| Vec::new())
        };
        Ok(respond(self.run("DEL", command).await))
    }

    /// Not one of the commands that are counted, logged and kept back when there are many: runtimes ask all the time.
    async fn cmd_status(&self, request: Request<CniCmdRequest>) -> Result<Response<CniCmdResponse>, Status> {
        let status = status::parse(request.into_inner()).and_then(|()| self.commands.status());
        Ok(respond(status.map(|()| Vec::new())))
    }

    async fn cmd_gc(&self, request: Request<CniCmdRequest>) -> Result<Response<CniCmdResponse>, Status> {
        let commands = Arc::clone(&self.commands);
        let command = async move {
            let request = GcRequest::parse(request.into_inner())?;
            commands.gc(&request).await.map(|()| Vec::new())
        };
        Ok(respond(self.run("GC", command).await))
    }
}

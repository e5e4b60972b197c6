//! An agent that answers every command with what its test told it.

use std::path::PathBuf;

use antrea_cni::error::CniError;
use antrea_cni::proto::cni_server::{Cni, CniServer};
use antrea_cni::proto::{CniCmdRequest, CniCmdResponse};
use tokio::net::UnixListener;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::{Request, Response, Status};

/// Echoes the command and its parameters as the result, succeeds without a result, or fails.
pub(crate) enum Answer {
    Echo,
    Done,
    Fail(CniError),
    Refuse(Status),
}

/// The agent on a socket of its own, which ends when it is dropped.
pub(crate) struct FakeAgent {
    directory: tempfile::TempDir,
    _runtime: tokio::runtime::Runtime,
}

impl FakeAgent {
    pub(crate) fn start(answer: Answer) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let listener = {
            let _entered = runtime.enter();
            UnixListener::bind(directory.path().join("cni.sock")).unwrap()
        };
        let service = CniServer::new(Scripted(answer));
        let connections = UnixListenerStream::new(listener);
        runtime.spawn(tonic::transport::Server::builder().serve_with_incoming(service, connections));
        Self { directory, _runtime: runtime }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join("cni.sock")
    }
}

struct Scripted(Answer);

impl Scripted {
    fn answer(&self, command: &str, request: CniCmdRequest) -> Result<Response<CniCmdResponse>, Status> {
        match &self.0 {
            Answer::Echo => {
                let arguments = request.cni_args.unwrap();
                let text = format!(
                    "{command} {} {} {} {} {} {}",
                    arguments.container_id,
                    arguments.netns,
                    arguments.ifname,
                    arguments.args,
                    arguments.path,
                    String::from_utf8(arguments.network_configuration).unwrap(),
                );
                Ok(Response::new(CniCmdResponse { cni_result: text.into_bytes(), error: None }))
            }
            Answer::Done => Ok(Response::new(CniCmdResponse::default())),
            Answer::Fail(error) => Ok(Response::new(error.clone().into())),
            Answer::Refuse(status) => Err(status.clone()),
        }
    }
}

#[tonic::async_trait]
impl Cni for Scripted {
    async fn cmd_add(&self, request: Request<CniCmdRequest>) -> Result<Response<CniCmdResponse>, Status> {
        self.answer("ADD", request.into_inner())
    }

    async fn cmd_check(&self, request: Request<CniCmdRequest>) -> Result<Response<CniCmdResponse>, Status> {
        self.answer("CHECK", request.into_inner())
    }

    async fn cmd_status(&self, request: Request<CniCmdRequest>) -> Result<Response<CniCmdResponse>, Status> {
        self.answer("STATUS", request.into_inner())
    }

    async fn cmd_gc(&self, request: Request<CniCmdRequest>) -> Result<Response<CniCmdResponse>, Status> {
        self.answer("GC", request.into_inner())
    }

    async fn cmd_del(&self, request: Request<CniCmdRequest>) -> Result<Response<CniCmdResponse>, Status> {
        self.answer("DEL", request.into_inner())
    }
}

//! What each CNI command does: VERSION is answered here, GC has nothing to do, the others go to the agent.

use antrea_cni::error::CniError;
use antrea_cni::proto::ErrorCode;
use antrea_cni::version::version_result;

use crate::client::Agent;
use crate::environment::{Command, Environment};

/// Runs the command of the environment, and returns what is to be printed.
pub(crate) fn run(environment: &Environment, input: &[u8]) -> Result<Vec<u8>, CniError> {
    let command = environment.command()?;
    match command {
        Command::Version => Ok(version_result(input).to_string().into_bytes()),
        // The agent itself compares what it holds with the Pods of its Node; it needs no runtime's list for that.
        Command::Gc => Ok(Vec::new()),
        Command::Status => status(environment.socket()),
        Command::Add | Command::Check | Command::Del => {
            let arguments = environment.arguments(command, input)?;
            block_on(async {
                let agent = Agent::connect(environment.socket()).await?;
                agent.call(command, arguments).await
            })
        }
    }
}

/// STATUS: available means that the agent accepts connections.
fn status(socket: &str) -> Result<Vec<u8>, CniError> {
    match std::os::unix::net::UnixStream::connect(socket) {
        Ok(_) => Ok(Vec::new()),
        Err(error) => {
            let message = format!("antrea-agent does not answer on {socket}: {error}");
            Err(CniError::new(ErrorCode::PluginNotAvailable, message))
        }
    }
}

fn block_on<T>(future: impl Future<Output = Result<T, CniError>>) -> Result<T, CniError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        CniError::new(ErrorCode::IoFailure, format!("cannot start the runtime of the plugin: {error}"))
    })?;
    runtime.block_on(future)
}

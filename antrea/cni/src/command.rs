//! What each CNI command does: VERSION is answered here, the others go to the agent.

use antrea_cni::config::NetworkConfig;
use antrea_cni::error::CniError;
use antrea_cni::proto::{CniCmdArgs, ErrorCode};
use antrea_cni::version::{CniVersion, version_result};

use crate::client::{Agent, Answer};
use crate::environment::{Command, Environment};

/// Runs the command of the environment, and returns what is to be printed.
pub(crate) fn run(environment: &Environment, input: &[u8]) -> Result<Vec<u8>, CniError> {
    let command = environment.command()?;
    if command == Command::Version {
        return Ok(version_result(input).to_string().into_bytes());
    }
    let arguments = environment.arguments(command, input)?;
    match command {
        Command::Status => status(environment.socket(), arguments),
        Command::Gc => gc(environment.socket(), arguments),
        _ => match ask(environment.socket(), command, arguments)? {
            Answer::Result(result) => Ok(result),
            Answer::Unknown(reason) => Err(CniError::new(ErrorCode::IncompatibleApiVersion, reason)),
        },
    }
}

/// An agent that does not know the command is upstream's: that it answers is all that can be said, and enough.
fn status(socket: &str, arguments: CniCmdArgs) -> Result<Vec<u8>, CniError> {
    let config = NetworkConfig::parse(&arguments.network_configuration)?;
    config.version.require("STATUS", CniVersion::V1_1_0)?;
    match ask(socket, Command::Status, arguments) {
        Ok(_) => Ok(Vec::new()),
        Err(error) if error.code == ErrorCode::TryAgainLater => {
            Err(CniError { code: ErrorCode::PluginNotAvailable, ..error })
        }
        Err(error) => Err(error),
    }
}

/// An agent that does not know the command removes what is stale by itself, when it starts: no failure of GC.
fn gc(socket: &str, arguments: CniCmdArgs) -> Result<Vec<u8>, CniError> {
    let config = NetworkConfig::parse(&arguments.network_configuration)?;
    config.version.require("GC", CniVersion::V1_1_0)?;
    ask(socket, Command::Gc, arguments).map(|_| Vec::new())
}

fn ask(socket: &str, command: Command, arguments: CniCmdArgs) -> Result<Answer, CniError> {
    block_on(async {
        let agent = Agent::connect(socket, command).await?;
        agent.call(command, arguments).await
    })
}

fn block_on<T>(future: impl Future<Output = Result<T, CniError>>) -> Result<T, CniError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        CniError::new(ErrorCode::IoFailure, format!("cannot start the runtime of the plugin: {error}"))
    })?;
    runtime.block_on(future)
}

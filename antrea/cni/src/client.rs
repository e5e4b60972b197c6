//! The call to the agent, and what becomes of calls that fail.

use std::error::Error as _;
use std::time::Duration;

use antrea_cni::error::CniError;
use antrea_cni::proto::cni_client::CniClient;
use antrea_cni::proto::{CniCmdArgs, CniCmdRequest, CniCmdResponse, ErrorCode};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

use crate::environment::Command;

/// Less than the two minutes after which the kubelet gives up (`runtimeRequestTimeout`), so that the user reads why.
const TIMEOUT: Duration = Duration::from_secs(100);

/// The kubelet asks for the status again and again, and is to know soon.
const STATUS_TIMEOUT: Duration = Duration::from_secs(5);

/// What the agent made of a command.
pub(crate) enum Answer {
    /// It was carried out; the result is to be printed.
    Result(Vec<u8>),
    /// The agent does not know the command, as this text says.
    Unknown(String),
}

/// A connection to the agent.
pub(crate) struct Agent(CniClient<Channel>);

impl Agent {
    /// Connects to the socket. A socket that is not there yet is worth another try: the agent may be starting.
    pub(crate) async fn connect(socket: &str, command: Command) -> Result<Self, CniError> {
        let unreachable = |error: &dyn std::error::Error| {
            let cause = CniError::from_chain(ErrorCode::TryAgainLater, error);
            CniError { message: format!("cannot reach antrea-agent on {socket}: {}", cause.message), ..cause }
        };
        let endpoint =
            Endpoint::from_shared(format!("unix://{socket}")).map_err(|error| unreachable(&error))?;
        let timeout = if command == Command::Status { STATUS_TIMEOUT } else { TIMEOUT };
        let endpoint = endpoint.connect_timeout(timeout).timeout(timeout);
        let channel = endpoint.connect().await.map_err(|error| unreachable(&error))?;
        Ok(Self(CniClient::new(channel)))
    }

    /// Sends one command.
    pub(crate) async fn call(mut self, command: Command, arguments: CniCmdArgs) -> Result<Answer, CniError> {
        let request = CniCmdRequest { cni_args: Some(arguments) };
        let response = match command {
            Command::Check => self.0.cmd_check(request).await,
            Command::Del => self.0.cmd_del(request).await,
            Command::Status => self.0.cmd_status(request).await,
            Command::Gc => self.0.cmd_gc(request).await,
            Command::Add | Command::Version => self.0.cmd_add(request).await,
        };
        let CniCmdResponse { cni_result, error } = match response {
            Ok(response) => response.into_inner(),
            Err(status) if status.code() == Code::Unimplemented => {
                return Ok(Answer::Unknown(unknown_command(&status)));
            }
            Err(status) => return Err(of_status(&status)),
        };
        match error {
            Some(error) => Err(error.into()),
            None => Ok(Answer::Result(cni_result)),
        }
    }
}

fn unknown_command(status: &Status) -> String {
    format!("antrea-agent does not know this command of the CNI API v1beta1: {}", status.message())
}

/// A status that has a cause did not come from the agent: the connection broke before an answer was there, as it does
/// when the agent is killed.
fn of_status(status: &Status) -> CniError {
    if let Some(cause) = status.source() {
        let cause = CniError::from_chain(ErrorCode::TryAgainLater, cause);
        return CniError { message: format!("antrea-agent did not answer: {}", cause.message), ..cause };
    }
    let (code, advice) = match status.code() {
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled => {
            (ErrorCode::TryAgainLater, "antrea-agent did not answer")
        }
        _ => (ErrorCode::UnknownRpcError, "the call to antrea-agent failed"),
    };
    CniError::new(code, format!("{advice}: {}", status.message()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_calls_tell_the_runtime_whether_to_try_again() {
        for (status, expected) in [
            (Status::unavailable("x"), "11 antrea-agent did not answer: x"),
            (Status::deadline_exceeded("x"), "11 antrea-agent did not answer: x"),
            (Status::internal("x"), "201 the call to antrea-agent failed: x"),
            (
                Status::from_error("connection closed".into()),
                "11 antrea-agent did not answer: connection closed",
            ),
        ] {
            let error = of_status(&status);
            assert_eq!(format!("{} {error}", error.code as i32), expected);
        }
    }
}

//! The call to the agent, and what becomes of calls that fail.

use std::time::Duration;

use antrea_cni::error::CniError;
use antrea_cni::proto::cni_client::CniClient;
use antrea_cni::proto::{CniCmdArgs, CniCmdRequest, CniCmdResponse, ErrorCode};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

use crate::environment::Command;

/// Less than the two minutes after which the kubelet gives up (`runtimeRequestTimeout`), so that the user reads why.
const TIMEOUT: Duration = Duration::from_secs(100);

/// A connection to the agent.
pub(crate) struct Agent(CniClient<Channel>);

impl Agent {
    /// Connects to the socket. A socket that is not there yet is worth another try: the agent may be starting.
    pub(crate) async fn connect(socket: &str) -> Result<Self, CniError> {
        let unreachable = |error: &dyn std::error::Error| {
            let cause = CniError::from_chain(ErrorCode::TryAgainLater, error);
            CniError { message: format!("cannot reach antrea-agent on {socket}: {}", cause.message), ..cause }
        };
        let endpoint =
            Endpoint::from_shared(format!("unix://{socket}")).map_err(|error| unreachable(&error))?;
        let channel = endpoint.timeout(TIMEOUT).connect().await.map_err(|error| unreachable(&error))?;
        Ok(Self(CniClient::new(channel)))
    }

    /// Sends one command, and returns the result to print.
    pub(crate) async fn call(mut self, command: Command, arguments: CniCmdArgs) -> Result<Vec<u8>, CniError> {
        let request = CniCmdRequest { cni_args: Some(arguments) };
        let response = match command {
            Command::Check => self.0.cmd_check(request).await,
            Command::Del => self.0.cmd_del(request).await,
            _ => self.0.cmd_add(request).await,
        };
        let CniCmdResponse { cni_result, error } =
            response.map_err(|status| of_status(&status))?.into_inner();
        match error {
            Some(error) => Err(error.into()),
            None => Ok(cni_result),
        }
    }
}

fn of_status(status: &Status) -> CniError {
    let code = match status.code() {
        Code::Unimplemented => ErrorCode::IncompatibleApiVersion,
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled => ErrorCode::TryAgainLater,
        _ => ErrorCode::UnknownRpcError,
    };
    let advice = match code {
        ErrorCode::IncompatibleApiVersion => "antrea-agent does not know the CNI API v1beta1",
        ErrorCode::TryAgainLater => "antrea-agent did not answer",
        _ => "the call to antrea-agent failed",
    };
    CniError::new(code, format!("{advice}: {}", status.message()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_calls_tell_the_runtime_whether_to_try_again() {
        for (status, expected) in [
            (Status::unimplemented("x"), "202 antrea-agent does not know the CNI API v1beta1: x"),
            (Status::unavailable("x"), "11 antrea-agent did not answer: x"),
            (Status::deadline_exceeded("x"), "11 antrea-agent did not answer: x"),
            (Status::internal("x"), "201 the call to antrea-agent failed: x"),
        ] {
            let error = of_status(&status);
            assert_eq!(format!("{} {error}", error.code as i32), expected);
        }
    }
}

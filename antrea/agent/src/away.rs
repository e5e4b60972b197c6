//! Which errors only mean that a neighbour is not there yet, so that waiting helps.

use antrea_host::FirewallError;
use antrea_kit::kube_client::AccessError;
use antrea_ovs::openflow::OpenFlowError;
use antrea_ovs::ovsdb::OvsDbError;

/// Whether Open vSwitch, which starts beside the agent, or the API server is what is missing, or the Node is too busy for
/// the programs of its host rules.
pub(crate) fn is_away(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref().is_some_and(database_is_away)
            || cause.downcast_ref().is_some_and(switch_is_away)
            || cause.downcast_ref().is_some_and(api_server_is_away)
            || cause.downcast_ref().is_some_and(FirewallError::is_busy)
            || matches!(cause.downcast_ref(), Some(AccessError::Timeout(_)))
    })
}

fn database_is_away(error: &OvsDbError) -> bool {
    matches!(
        error,
        OvsDbError::NoAnswer { .. }
            | OvsDbError::ConnectionLost
            | OvsDbError::NotInitialised
            | OvsDbError::NotTakenUp { .. }
    )
}

fn switch_is_away(error: &OpenFlowError) -> bool {
    matches!(error, OpenFlowError::NotConnected { .. } | OpenFlowError::ConnectionLost)
}

/// What it says of itself in a moment of weakness passes; what it refuses does not.
fn api_server_is_away(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => status.code == 429 || status.code >= 500,
        kube::Error::HyperError(_) | kube::Error::Service(_) | kube::Error::ReadEvents(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use antrea_host::CommandError;
    use antrea_types::IpFamily;
    use anyhow::Context;
    use kube::core::Status;

    use super::*;

    fn check(error: impl std::error::Error + Send + Sync + 'static, away: bool) {
        let error = Err::<(), _>(error).context("cannot do something").unwrap_err();
        assert_eq!(is_away(&error), away, "{error:?}");
    }

    fn refused(code: u16) -> kube::Error {
        kube::Error::Api(Box::new(Status::failure("no", "Reason").with_code(code)))
    }

    #[test]
    fn who_does_not_answer_is_away() {
        check(OvsDbError::ConnectionLost, true);
        check(OpenFlowError::ConnectionLost, true);
        check(AccessError::Timeout(std::time::Duration::from_secs(30)), true);
    }

    #[test]
    fn a_node_too_busy_for_its_host_rules_is_away() {
        let failed = |kind: ErrorKind| {
            let source = CommandError::Run { command: "iptables-restore".into(), source: kind.into() };
            FirewallError::Rules { family: IpFamily::V4, source }
        };
        check(failed(ErrorKind::TimedOut), true);
        check(failed(ErrorKind::NotFound), false);
    }

    #[test]
    fn an_api_server_that_is_overloaded_or_starting_is_away_and_one_that_refuses_is_not() {
        for (code, away) in [(429, true), (500, true), (503, true), (403, false), (404, false), (422, false)]
        {
            check(refused(code), away);
        }
    }
}

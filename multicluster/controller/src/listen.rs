//! Servers without TLS, for health and metrics.

use antrea_kit::server::{BindError, Handler, Limits, Server};

use crate::config::Listen;

/// Listens where the configuration says; nowhere where that is off.
///
/// # Errors
/// When somebody else has the port.
pub(crate) async fn bind(listen: Listen, handler: Handler) -> Result<Option<Server>, BindError> {
    match listen {
        Listen::Off => Ok(None),
        Listen::Everywhere(port) => {
            Server::bind_everywhere(port, None, Limits::default(), handler).await.map(Some)
        }
        Listen::At(address) => Server::bind(address, None, Limits::default(), handler).await.map(Some),
    }
}

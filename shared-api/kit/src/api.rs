//! The API that every program serves: TLS with a certificate made at start, on all addresses of the machine.

use std::sync::Arc;

use antrea_types::MinimumTls;

pub use crate::certificate::{CertificateError, StoredAuthority};
use crate::health::{Checks, not_found};
use crate::server::{BindError, Handler, Limits, Server};
use crate::serving_certificate::ServingCertificate;

/// An API that cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// There is no certificate for it.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The port cannot be had.
    #[error(transparent)]
    Bind(#[from] BindError),
}

/// Listens on `port` of all addresses with a certificate, and answers with `handler`.
///
/// # Errors
/// When somebody else has the port.
pub async fn bind(
    certificate: &Arc<ServingCertificate>,
    port: u16,
    minimum: MinimumTls,
    handler: Handler,
) -> Result<Server, ApiError> {
    let tls = certificate.server_config(minimum)?;
    Ok(Server::bind_everywhere(port, Some(tls), Limits::default(), handler).await?)
}

/// Answers for the health of the program; other paths are not there.
pub fn health(checks: Checks) -> Handler {
    Arc::new(move |request| {
        let answer = checks.answer(&request).unwrap_or_else(not_found);
        Box::pin(std::future::ready(answer))
    })
}

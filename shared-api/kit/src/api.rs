//! The API that every program serves: TLS with a certificate made at start, on all addresses of the machine. So far it
//! answers for health only.

use std::sync::Arc;

use antrea_types::MinimumTls;

use crate::certificate::{CertificateError, SelfSigned};
use crate::health::{Checks, not_found};
use crate::server::{BindError, Handler, Limits, Server};

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

/// Listens on `port` of all addresses for clients that know the program by `names`, host names or IP addresses.
/// `program` is the common name of its certificate. Gives also the certificate that vouches for it, PEM.
///
/// # Errors
/// When a name is none, or somebody else has the port.
pub async fn bind(
    program: &str,
    names: &[String],
    port: u16,
    minimum: MinimumTls,
    checks: Checks,
) -> Result<(Server, String), ApiError> {
    let certificate = SelfSigned::generate(program, names)?;
    let tls = certificate.server_config(minimum)?;
    let server = Server::bind_everywhere(port, Some(tls), Limits::default(), health(checks)).await?;
    Ok((server, certificate.ca_pem().to_owned()))
}

/// Answers for the health of the program; other paths are not there.
pub fn health(checks: Checks) -> Handler {
    Arc::new(move |request| {
        let uri = request.uri();
        let answer = checks.answer(request.method(), uri.path(), uri.query()).unwrap_or_else(not_found);
        Box::pin(std::future::ready(answer))
    })
}

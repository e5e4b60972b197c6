//! Requests to the controller: what they are made of, and why one failed.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use antrea_shared_api::protobuf::MEDIA_TYPE;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use hyper::{Method, Request};

/// Protobuf, and what every API server can answer.
const ACCEPTED: &str = "application/vnd.kubernetes.protobuf,application/json";

/// Who asks, as the controller logs it.
const PROGRAM: &str = concat!("antrea-agent/", env!("CARGO_PKG_VERSION"));

/// A request that did not get what it asked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// There is nobody to ask yet.
    #[error("antrea-controller is not known: {0}")]
    Unknown(&'static str),
    /// The endpoints, or what vouches for them, changed before there was a connection.
    #[error("antrea-controller moved")]
    Moved,
    /// There is no connection.
    #[error("cannot connect to antrea-controller at {endpoint}")]
    Connect {
        /// Where.
        endpoint: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The token cannot be used.
    #[error("cannot use the token {}", path.display())]
    Token {
        /// Its file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// What it is about cannot be named in a path.
    #[error("no object can be called {0:?}")]
    Name(String),
    /// There is no such request.
    #[error("no request can be made")]
    Request(#[from] hyper::http::Error),
    /// The connection failed.
    #[error("the connection to antrea-controller failed")]
    Lost(#[from] hyper::Error),
    /// It took too long.
    #[error("antrea-controller did not answer within {0:?}")]
    Slow(Duration),
    /// The controller answered something else.
    #[error("antrea-controller refused with status {code}: {message}")]
    Refused {
        /// The HTTP status.
        code: u16,
        /// What the controller says.
        message: String,
    },
}

/// What is asked.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) method: Method,
    /// The path and the query.
    pub(super) path: String,
    /// Protobuf.
    pub(super) body: Vec<u8>,
}

/// How a connection wants to be told whom a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target<'a> {
    /// HTTP/1.1 has a header.
    Header(&'a str),
    /// HTTP/2 has it in the URI.
    Uri(&'a str),
}

impl Call {
    pub(super) fn request(
        &self,
        target: Target<'_>,
        token: HeaderValue,
    ) -> Result<Request<Full<Bytes>>, CallError> {
        let request = Request::builder()
            .method(&self.method)
            .header(ACCEPT, ACCEPTED)
            .header(AUTHORIZATION, token)
            .header(USER_AGENT, PROGRAM);
        let request = match target {
            Target::Header(host) => request.uri(&self.path).header(HOST, host),
            Target::Uri(host) => request.uri(format!("https://{host}{}", self.path)),
        };
        let request = match self.body.is_empty() {
            true => request,
            false => request.header(CONTENT_TYPE, MEDIA_TYPE),
        };
        Ok(request.body(Full::new(Bytes::from(self.body.clone())))?)
    }
}

/// What says who asks. The file is read each time: requests are few, and the token in it is replaced before it expires.
pub(super) async fn authorization(path: &Path) -> Result<HeaderValue, CallError> {
    let error = |source| CallError::Token { path: path.to_owned(), source };
    let token = tokio::fs::read_to_string(path).await.map_err(error)?;
    let mut value = HeaderValue::try_from(format!("Bearer {}", token.trim()))
        .map_err(|source| error(io::Error::new(io::ErrorKind::InvalidData, source)))?;
    value.set_sensitive(true);
    Ok(value)
}

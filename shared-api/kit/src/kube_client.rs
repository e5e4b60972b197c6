//! The client of the Kubernetes API.

mod trouble;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use hyper::header::{HeaderValue, USER_AGENT};
use hyper::http::Uri;
use kube::api::{DeleteParams, PostParams};
use kube::config::{Config, InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Api, Client, ResourceExt};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use trouble::{TlsTrouble, Trouble};

/// No single request takes longer. Watches do: their idle time is bounded by the watcher.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Longer than the time after which a watch is renewed (290 s), so that it ends only what is dead.
const READ_TIMEOUT: Duration = Duration::from_secs(330);

/// How to reach the API server.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// A kubeconfig file; without one, the credentials of the Pod.
    pub kubeconfig: Option<&'a Path>,
    /// The URL of the API server, where neither the kubeconfig's nor the environment's is to be used.
    pub server: Option<&'a str>,
    /// The program, as the API server logs it: `antrea-agent/0.1.0`.
    pub user_agent: &'a str,
}

/// An API server that there is no way to.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The kubeconfig file cannot be used.
    #[error("cannot use the kubeconfig {}", path.display())]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: KubeconfigError,
    },
    /// The Pod has no credentials.
    #[error(
        "cannot use the credentials of the Pod: run in a Pod with a ServiceAccount, or give a kubeconfig"
    )]
    InCluster(#[source] InClusterError),
    /// The URL is none.
    #[error("{url:?} is not a URL of an API server")]
    Url {
        /// The text.
        url: String,
        /// Why.
        #[source]
        source: hyper::http::uri::InvalidUri,
    },
    /// The name of the program cannot be sent.
    #[error("the user agent cannot be sent")]
    UserAgent(#[source] hyper::header::InvalidHeaderValue),
    /// The credentials cannot be used.
    #[error("cannot make a client of the Kubernetes API")]
    Client(#[source] kube::Error),
    /// A request took too long.
    #[error("the API server did not answer within {0:?}")]
    Timeout(Duration),
}

/// Makes a client. Nothing is sent yet, so that the API server may be away. Token and CA are read again from their
/// files when they rotate.
///
/// # Errors
/// When there are no usable credentials.
pub async fn client(access: Access<'_>) -> Result<Client, AccessError> {
    connect(config(access).await?)
}

/// Makes a client on the runtime of the caller, to which its connections belong.
///
/// # Errors
/// When the credentials cannot be used.
pub fn connect(config: Config) -> Result<Client, AccessError> {
    Client::try_from(config).map_err(AccessError::Client)
}

/// What [`client`] and [`connect`] make clients from.
///
/// # Errors
/// When there are no usable credentials.
pub async fn config(access: Access<'_>) -> Result<Config, AccessError> {
    let mut config = match (access.kubeconfig, access.server) {
        (Some(path), _) => from_file(path).await?,
        // The environment may lack the variables with the Service's address: it is not used anyhow.
        (None, Some(_)) => Config::incluster_dns().map_err(AccessError::InCluster)?,
        (None, None) => Config::incluster().map_err(AccessError::InCluster)?,
    };
    if let Some(url) = access.server {
        config.cluster_url =
            url.parse::<Uri>().map_err(|source| AccessError::Url { url: url.to_owned(), source })?;
    }
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.write_timeout = Some(REQUEST_TIMEOUT);
    config.read_timeout = Some(READ_TIMEOUT);
    config.reset_reader_on_write = true;
    let user_agent = HeaderValue::from_str(access.user_agent).map_err(AccessError::UserAgent)?;
    config.headers.push((USER_AGENT, user_agent));
    Ok(config)
}

/// The certificates of a PEM file as [`Config::root_cert`] wants them.
///
/// # Errors
/// When there is none in it.
pub fn root_certificates(pem: &[u8]) -> anyhow::Result<Vec<Vec<u8>>> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates = certificates.context("the certificates of the server cannot be read")?;
    anyhow::ensure!(!certificates.is_empty(), "there is no certificate that vouches for the server");
    Ok(certificates.into_iter().map(|certificate| certificate.to_vec()).collect())
}

async fn from_file(path: &Path) -> Result<Config, AccessError> {
    let error = |source| AccessError::Kubeconfig { path: path.to_owned(), source };
    let kubeconfig = Kubeconfig::read_from(path).map_err(error)?;
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(error)
}

/// Waits for a request, but not forever: an API server that takes a request and never answers must not stop a
/// component.
///
/// # Errors
/// What the request says, or that it took too long.
pub async fn bounded<T, E>(request: impl Future<Output = Result<T, E>>) -> anyhow::Result<T>
where
    E: Into<anyhow::Error>,
{
    match tokio::time::timeout(REQUEST_TIMEOUT, request).await {
        Ok(answer) => answer.map_err(Into::into),
        Err(_) => Err(AccessError::Timeout(REQUEST_TIMEOUT).into()),
    }
}

/// The HTTP status that the API server refused a request with.
pub fn status_code(error: &anyhow::Error) -> Option<u16> {
    match error.downcast_ref::<kube::Error>()? {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}

/// What a request did to the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It changed something.
    Changed,
    /// All was so already, by somebody else's doing.
    Unchanged,
}

/// Creates an object; one of its name that is there already is as good.
///
/// # Errors
/// What the request says.
pub async fn create<K>(api: &Api<K>, object: &K, field_manager: &str) -> anyhow::Result<Effect>
where
    K: kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + Serialize + std::fmt::Debug,
{
    let parameters = PostParams { field_manager: Some(field_manager.to_owned()), ..PostParams::default() };
    effect(bounded(api.create(&parameters, object)).await, 409)
        .with_context(|| format!("cannot create {} {}", K::kind(&()), object.name_any()))
}

/// Deletes an object; one that is not there is as good.
///
/// # Errors
/// What the request says.
pub async fn delete<K>(api: &Api<K>, name: &str) -> anyhow::Result<Effect>
where
    K: kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
{
    effect(bounded(api.delete(name, &DeleteParams::default())).await, 404)
        .with_context(|| format!("cannot delete {} {name}", K::kind(&())))
}

/// `done` is the HTTP status that says that there is nothing to do.
fn effect<T>(answer: anyhow::Result<T>, done: u16) -> anyhow::Result<Effect> {
    match answer {
        Ok(_) => Ok(Effect::Changed),
        Err(error) if status_code(&error) == Some(done) => Ok(Effect::Unchanged),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn refused(code: u16) -> anyhow::Result<()> {
        Err(kube::Error::Api(Status::failure("refused", "Refused").with_code(code).boxed()).into())
    }

    #[test]
    fn what_somebody_else_did_already_is_as_good() {
        assert_eq!(effect(Ok(()), 409).unwrap(), Effect::Changed);
        assert_eq!(effect(refused(409), 409).unwrap(), Effect::Unchanged);
        assert_eq!(status_code(&effect(refused(403), 409).unwrap_err()), Some(403));
    }
}

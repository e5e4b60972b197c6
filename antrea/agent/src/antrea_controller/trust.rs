//! Who vouches for the controller: TLS with the certificates of the ConfigMap, and the name of the Service.

use std::sync::Arc;

use antrea_kit::kube_client::root_certificates;
use anyhow::{Context, Result};
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The certificates that vouch for the controller now.
#[derive(Clone)]
pub(super) struct Trust {
    pem: String,
    name: ServerName<'static>,
    verifier: Arc<WebPkiServerVerifier>,
    config: Arc<ClientConfig>,
}

impl Trust {
    /// `pem` is the certificates, `name` what the controller is called.
    ///
    /// # Errors
    /// There is no certificate in `pem`, or one of them is none.
    pub(super) fn new(pem: &str, name: &str) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        for certificate in root_certificates(pem.as_bytes())? {
            roots.add(certificate.into()).context("a certificate cannot be used to vouch for the server")?;
        }
        let provider = Arc::new(default_provider());
        let verifier =
            WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(&provider)).build()?;
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_webpki_verifier(Arc::clone(&verifier))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        // Connections last: there is nothing to gain, and each is to be verified.
        config.resumption = Resumption::disabled();
        let name = ServerName::try_from(name.to_owned()).context("the name of the server is none")?;
        Ok(Self { pem: pem.to_owned(), name, verifier, config: Arc::new(config) })
    }

    /// The certificates that this was made of.
    pub(super) fn pem(&self) -> &str {
        &self.pem
    }

    /// Speaks TLS with the controller.
    ///
    /// # Errors
    /// It does not speak TLS, or nobody vouches for it.
    pub(super) async fn connect(&self, stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        TlsConnector::from(Arc::clone(&self.config)).connect(self.name.clone(), stream).await
    }

    /// Whether a server that showed this chain before, its own certificate first, would still be believed.
    pub(super) fn vouches_for(&self, chain: &[CertificateDer<'_>]) -> bool {
        let Some((certificate, others)) = chain.split_first() else { return false };
        let verified =
            self.verifier.verify_server_cert(certificate, others, &self.name, &[], UnixTime::now());
        verified.is_ok()
    }
}

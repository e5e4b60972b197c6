//! Client certificates: a server asks for them, and takes any whose key the client has. Who vouches for a certificate
//! is found out when somebody relies on it, since the authorities of a cluster change while connections are open.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, RootCertStore, SignatureScheme};

use super::subject::Subject;

/// Certificates that vouch for those of clients.
#[derive(Clone)]
pub(super) struct ClientAuthorities(Arc<dyn ClientCertVerifier>);

/// Authorities that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("there is no certificate in PEM that vouches for others")]
pub(super) struct NoAuthorities;

impl ClientAuthorities {
    /// Reads certificates, PEM. One that cannot be read does not keep the others from being used.
    pub(super) fn read(pem: &str) -> Result<Self, NoAuthorities> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(CertificateDer::pem_slice_iter(pem.as_bytes()).flatten());
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::new(default_provider()));
        verifier.build().map(Self).map_err(|_| NoAuthorities)
    }

    /// Whom the certificates, the client's own first, are for; nobody where these authorities do not vouch for them now.
    pub(super) fn subject(&self, chain: &[CertificateDer<'_>]) -> Option<Subject> {
        let (own, intermediates) = chain.split_first()?;
        self.0.verify_client_cert(own, intermediates, UnixTime::now()).ok()?;
        Subject::of(own)
    }
}

impl fmt::Debug for ClientAuthorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientAuthorities")
    }
}

/// Asks for a certificate and takes any, or none.
#[derive(Debug)]
pub(crate) struct AnyClientCertificate(WebPkiSupportedAlgorithms);

impl AnyClientCertificate {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(default_provider().signature_verification_algorithms))
    }
}

impl ClientCertVerifier for AnyClientCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

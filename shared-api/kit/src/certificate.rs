//! TLS for the servers of a process: certificates made at start, kept in memory only.

use std::sync::Arc;

use antrea_types::MinimumTls;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate that cannot be made or used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// Making it failed; a name may be none.
    #[error("no certificate could be made for {names:?}")]
    Make {
        /// The names asked for.
        names: Vec<String>,
        /// What the library says.
        #[source]
        source: rcgen::Error,
    },
    /// TLS does not take it.
    #[error("the certificate cannot be used for TLS")]
    Use(#[source] rustls::Error),
}

/// A certificate for the names of this process, and the one that vouches for it. The key that signed it is gone.
#[derive(Debug)]
pub struct SelfSigned {
    chain: Vec<CertificateDer<'static>>,
    key: KeyPair,
    ca_pem: String,
}

impl SelfSigned {
    /// Makes a certificate for host names and IP addresses. `subject` is the common name.
    ///
    /// # Errors
    /// When a name is neither a host name nor an address.
    pub fn generate(subject: &str, names: &[String]) -> Result<Self, CertificateError> {
        Self::try_generate(subject, names)
            .map_err(|source| CertificateError::Make { names: names.to_vec(), source })
    }

    fn try_generate(subject: &str, names: &[String]) -> Result<Self, rcgen::Error> {
        let mut authority = CertificateParams::default();
        authority.distinguished_name.push(DnType::CommonName, format!("{subject}-ca"));
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let authority_key = KeyPair::generate()?;
        let authority_certificate = authority.self_signed(&authority_key)?;
        let issuer = Issuer::new(authority, authority_key);

        let mut leaf = CertificateParams::new(names)?;
        leaf.distinguished_name.push(DnType::CommonName, subject);
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        leaf.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = leaf.signed_by(&key, &issuer)?;
        Ok(Self {
            chain: vec![certificate.der().clone(), authority_certificate.der().clone()],
            key,
            ca_pem: authority_certificate.pem(),
        })
    }

    /// The certificate that clients need to trust this process, PEM.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// What a server needs to speak TLS with this certificate.
    ///
    /// # Errors
    /// When TLS does not take it.
    pub fn server_config(&self, minimum: MinimumTls) -> Result<Arc<ServerConfig>, CertificateError> {
        let versions: &[_] = match minimum {
            MinimumTls::V1_2 => &[&rustls::version::TLS13, &rustls::version::TLS12],
            MinimumTls::V1_3 => &[&rustls::version::TLS13],
        };
        let key = PrivateKeyDer::Pkcs8(self.key.serialize_der().into());
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(versions)
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(self.chain.clone(), key))
            .map_err(CertificateError::Use)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

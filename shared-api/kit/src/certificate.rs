//! Certificates for the servers of a process: made at start, kept in memory only.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

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

/// What vouches for the certificates of this process, as long as it runs: a key of its own that never leaves it.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    pem: String,
    subject: String,
    names: Vec<String>,
}

impl Authority {
    /// For certificates with the common name `subject`, for these host names and IP addresses.
    pub(crate) fn generate(subject: &str, names: &[String]) -> Result<Self, CertificateError> {
        Self::try_generate(subject, names)
            .map_err(|source| CertificateError::Make { names: names.to_vec(), source })
    }

    fn try_generate(subject: &str, names: &[String]) -> Result<Self, rcgen::Error> {
        let mut authority = CertificateParams::default();
        authority.distinguished_name.push(DnType::CommonName, format!("{subject}-ca"));
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate()?;
        let certificate = authority.self_signed(&key)?;
        Ok(Self {
            issuer: Issuer::new(authority, key),
            pem: certificate.pem(),
            certificate: certificate.der().clone(),
            subject: subject.to_owned(),
            names: names.to_vec(),
        })
    }

    /// The certificate that clients need to trust this process, PEM.
    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// A certificate with a new key, valid for `lifetime` from now. It counts as valid before, too: clocks differ.
    pub(crate) fn issue(
        &self,
        now: SystemTime,
        lifetime: Duration,
    ) -> Result<Arc<CertifiedKey>, CertificateError> {
        let (certificate, key) = self
            .try_issue(now, lifetime)
            .map_err(|source| CertificateError::Make { names: self.names.clone(), source })?;
        let key = any_supported_type(&PrivateKeyDer::Pkcs8(key.serialize_der().into()))
            .map_err(CertificateError::Use)?;
        Ok(Arc::new(CertifiedKey::new(vec![certificate, self.certificate.clone()], key)))
    }

    fn try_issue(
        &self,
        now: SystemTime,
        lifetime: Duration,
    ) -> Result<(CertificateDer<'static>, KeyPair), rcgen::Error> {
        let mut leaf = CertificateParams::new(self.names.as_slice())?;
        let since_epoch = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        leaf.not_after = date_time_ymd(1970, 1, 1) + since_epoch + lifetime;
        leaf.distinguished_name.push(DnType::CommonName, &self.subject);
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        leaf.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = leaf.signed_by(&key, &self.issuer)?;
        Ok((certificate.der().clone(), key))
    }
}

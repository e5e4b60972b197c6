//! Certificates for the servers of a process: made at start, kept in memory only. What vouches for them may be kept
//! elsewhere, for replicas that clients are to trust alike.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
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
    /// What vouches for certificates is not what it was when it was stored.
    #[error("the stored certificate of the authority cannot be read")]
    Stored(#[source] rustls::pki_types::pem::Error),
    /// TLS does not take it.
    #[error("the certificate cannot be used for TLS")]
    Use(#[source] rustls::Error),
}

/// What vouches for certificates, to be kept where all who share it can read it, and nobody else.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredAuthority {
    /// The certificate that clients need, PEM.
    pub certificate: String,
    /// Its key, PEM (PKCS #8).
    pub key: String,
}

/// Nobody's log has the key.
impl fmt::Debug for StoredAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoredAuthority")
    }
}

impl StoredAuthority {
    /// A new one, for certificates with the common name `subject`.
    ///
    /// # Errors
    /// When the library fails.
    pub fn generate(subject: &str) -> Result<Self, CertificateError> {
        let generate = || {
            let key = KeyPair::generate()?;
            let certificate = parameters(subject).self_signed(&key)?;
            Ok(Self { certificate: certificate.pem(), key: key.serialize_pem() })
        };
        generate().map_err(|source| CertificateError::Make { names: Vec::new(), source })
    }
}

/// What vouches for the certificates of this process.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    pem: String,
    subject: String,
    names: Vec<String>,
}

impl Authority {
    /// For certificates with the common name `subject`, for these host names and IP addresses; `stored` is of the same
    /// common name.
    pub(crate) fn restore(
        subject: &str,
        names: &[String],
        stored: &StoredAuthority,
    ) -> Result<Self, CertificateError> {
        let key = KeyPair::from_pem(&stored.key)
            .map_err(|source| CertificateError::Make { names: names.to_vec(), source })?;
        Ok(Self {
            issuer: Issuer::new(parameters(subject), key),
            certificate: CertificateDer::from_pem_slice(stored.certificate.as_bytes())
                .map_err(CertificateError::Stored)?,
            pem: stored.certificate.clone(),
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

fn parameters(subject: &str) -> CertificateParams {
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, format!("{subject}-ca"));
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    authority
}

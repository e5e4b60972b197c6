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
    /// When it ends; without, never.
    pub ends: Option<SystemTime>,
}

/// Nobody's log has the key.
impl fmt::Debug for StoredAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoredAuthority")
    }
}

impl StoredAuthority {
    /// A new one without an end, for certificates with the common name `subject`: one that goes with its process.
    ///
    /// # Errors
    /// When the library fails.
    pub fn generate(subject: &str) -> Result<Self, CertificateError> {
        Self::make(&parameters(subject), None)
    }

    /// A new one that vouches until `ends`. It counts as valid a day before `now`, too: clocks differ.
    ///
    /// # Errors
    /// When the library fails.
    pub fn generate_until(
        subject: &str,
        now: SystemTime,
        ends: SystemTime,
    ) -> Result<Self, CertificateError> {
        let mut parameters = parameters(subject);
        let before = now.checked_sub(Duration::from_secs(24 * 3600)).unwrap_or(now);
        parameters.not_before = date_time_ymd(1970, 1, 1) + since_epoch(before);
        parameters.not_after = date_time_ymd(1970, 1, 1) + since_epoch(ends);
        Self::make(&parameters, Some(ends))
    }

    fn make(parameters: &CertificateParams, ends: Option<SystemTime>) -> Result<Self, CertificateError> {
        let make = || {
            let key = KeyPair::generate()?;
            let certificate = parameters.self_signed(&key)?;
            Ok(Self { certificate: certificate.pem(), key: key.serialize_pem(), ends })
        };
        make().map_err(|source| CertificateError::Make { names: Vec::new(), source })
    }

    /// Whether it can vouch for anything.
    ///
    /// # Errors
    /// When it is not what it was when it was stored.
    pub fn check(&self) -> Result<(), CertificateError> {
        self.read(&[]).map(drop)
    }

    fn read(&self, names: &[String]) -> Result<(CertificateDer<'static>, KeyPair), CertificateError> {
        let key = KeyPair::from_pem(&self.key)
            .map_err(|source| CertificateError::Make { names: names.to_vec(), source })?;
        let certificate = CertificateDer::from_pem_slice(self.certificate.as_bytes());
        Ok((certificate.map_err(CertificateError::Stored)?, key))
    }
}

/// What vouches for the certificates of this process.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    pem: String,
    ends: Option<SystemTime>,
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
        let (certificate, key) = stored.read(names)?;
        Ok(Self {
            issuer: Issuer::new(parameters(subject), key),
            certificate,
            pem: stored.certificate.clone(),
            ends: stored.ends,
            subject: subject.to_owned(),
            names: names.to_vec(),
        })
    }

    /// Another one, for the same subject and names.
    pub(crate) fn followed_by(&self, stored: &StoredAuthority) -> Result<Self, CertificateError> {
        Self::restore(&self.subject, &self.names, stored)
    }

    /// The certificate that clients need to trust this process, PEM.
    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// For how long a certificate can be valid from `now` on: for `wanted`, but no longer than what vouches for it.
    pub(crate) fn lifetime(&self, now: SystemTime, wanted: Duration) -> Duration {
        let left = self.ends.map(|ends| ends.duration_since(now).unwrap_or_default());
        left.map_or(wanted, |left| left.min(wanted))
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
        leaf.not_after = date_time_ymd(1970, 1, 1) + since_epoch(now) + lifetime;
        leaf.distinguished_name.push(DnType::CommonName, &self.subject);
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        leaf.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = leaf.signed_by(&key, &self.issuer)?;
        Ok((certificate.der().clone(), key))
    }
}

fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

fn parameters(subject: &str) -> CertificateParams {
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, format!("{subject}-ca"));
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    authority
}

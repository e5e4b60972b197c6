//! Keys and certificates of a cluster: what `kubeadm init` makes, valid for as long as rcgen's defaults say.
//!
//! Kubernetes documentation, "PKI certificates and requirements".

use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SigningKey as _,
};

/// A certificate authority that lies in a folder as NAME.crt and NAME.key.
pub struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

/// A certificate and its key as PEM.
#[derive(Debug, Clone)]
pub struct Identity {
    /// PEM.
    pub certificate: String,
    /// PKCS #8 in PEM.
    pub key: String,
}

/// Whom a certificate names.
#[derive(Debug, Clone, Default)]
pub struct Subject<'a> {
    /// Kubernetes' user name.
    pub common_name: &'a str,
    /// Kubernetes' group.
    pub organization: Option<&'a str>,
    /// DNS names and IP addresses a server is reached at.
    pub alternative_names: Vec<String>,
}

impl Authority {
    /// Makes a new authority and writes it to `folder`.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn create(folder: &Path, name: &str) -> Result<Self> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        params.key_usages =
            vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().context("cannot make a key")?;
        let certificate = params.self_signed(&key).context("cannot sign a certificate")?.pem();
        let identity = Identity { certificate: certificate.clone(), key: key.serialize_pem() };
        identity.write(folder, name)?;
        Ok(Self { folder: folder.to_owned(), issuer: Issuer::new(params, key), certificate })
    }

    /// The authority's certificate as PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Makes a certificate, for a client and a server alike, and writes it to the authority's folder.
    ///
    /// # Errors
    /// When a name is not valid or the disk does not take it.
    pub fn issue(&self, file: &str, subject: &Subject<'_>) -> Result<Identity> {
        let mut params = CertificateParams::new(subject.alternative_names.clone())
            .with_context(|| format!("{:?} cannot stand in a certificate", subject.alternative_names))?;
        params.distinguished_name = rcgen::DistinguishedName::new();
        if let Some(organization) = subject.organization {
            params.distinguished_name.push(DnType::OrganizationName, organization);
        }
        params.distinguished_name.push(DnType::CommonName, subject.common_name);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().context("cannot make a key")?;
        let certificate = params.signed_by(&key, &self.issuer).context("cannot sign a certificate")?.pem();
        let identity = Identity { certificate, key: key.serialize_pem() };
        identity.write(&self.folder, file)?;
        Ok(identity)
    }
}

impl Identity {
    fn write(&self, folder: &Path, name: &str) -> Result<()> {
        write_secret(&folder.join(format!("{name}.crt")), &self.certificate)?;
        write_secret(&folder.join(format!("{name}.key")), &self.key)
    }
}

/// Writes the key pair that ServiceAccount tokens are signed with.
///
/// # Errors
/// When the disk does not take it.
pub fn write_service_account_key(folder: &Path) -> Result<()> {
    let key = KeyPair::generate().context("cannot make a key")?;
    write_secret(&folder.join("sa.key"), &key.serialize_pem())?;
    write_secret(&folder.join("sa.pub"), &key.public_key_pem())
}

/// A ServiceAccount token of these claims, base64url as in `header.claims.signature` (RFC 7515, ES256): as the API server
/// that has the key would sign it.
///
/// # Errors
/// When there is no such key, or it does not sign.
pub fn sign_service_account_token(folder: &Path, header: &str, claims: &str) -> Result<String> {
    let key = fs::read_to_string(folder.join("sa.key")).context("cannot read sa.key")?;
    let key = KeyPair::from_pem(&key).context("sa.key is no key")?;
    let signed = format!("{header}.{claims}");
    let signature = key.sign(signed.as_bytes()).context("sa.key does not sign")?;
    let numbers = ecdsa_numbers(&signature).context("sa.key signs otherwise than ECDSA does")?;
    Ok(format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(numbers)))
}

/// The two numbers of a signature in DER (RFC 3279 section 2.2.3), 32 bytes each (RFC 7518 section 3.4).
fn ecdsa_numbers(der: &[u8]) -> Option<[u8; 64]> {
    let mut numbers = [0; 64];
    let mut rest = der.get(2..)?;
    for place in numbers.chunks_mut(32) {
        let [2, length, following @ ..] = rest else { return None };
        let (number, after) = following.split_at_checked(usize::from(*length))?;
        let number = number.strip_prefix(&[0]).unwrap_or(number);
        place.get_mut(32_usize.checked_sub(number.len())?..)?.copy_from_slice(number);
        rest = after;
    }
    Some(numbers)
}

/// Writes a file that only root reads.
pub(crate) fn write_secret(path: &Path, text: &str) -> Result<()> {
    let opened = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    let written = opened.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
    written.with_context(|| format!("cannot write {}", path.display()))
}

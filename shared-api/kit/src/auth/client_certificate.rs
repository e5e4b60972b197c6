//! Client certificates: a server asks for them, and takes any whose key the client has. Who vouches for a certificate
//! is found out when somebody relies on it, since the authorities of a cluster change while connections are open; it is
//! then known for the connection for a while.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, RootCertStore, SignatureScheme};

use super::subject::Subject;

/// How many certificates beside its own a client may show, and how many bytes all of them may have. Clients of a cluster
/// have none or one; the search for a path among many of the same name takes more than exponentially long.
const MOST_INTERMEDIATES: usize = 4;
const LARGEST_CHAIN: usize = 16 * 1024;

/// How long it is known that somebody vouches for a certificate; certificates end.
const HOLDS: Duration = Duration::from_secs(60);

/// The certificates that a client showed, its own first. It has the key of its own; who vouches for that is found out when
/// it matters.
pub struct ClientCertificates {
    chain: Vec<CertificateDer<'static>>,
    verdicts: Mutex<[Option<Verdict>; 2]>,
}

/// The authorities that the cluster has for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Of those who pass on requests of others.
    FrontProxy,
    /// Of those who ask for themselves.
    Client,
}

/// Whom the authorities of a generation of trust say that a chain is for.
#[derive(Clone, Debug)]
struct Verdict {
    generation: u64,
    until: Instant,
    subject: Option<Subject>,
}

impl ClientCertificates {
    /// A chain, the client's own certificate first.
    pub fn new(chain: &[CertificateDer<'static>]) -> Self {
        Self { chain: chain.to_vec(), verdicts: Mutex::default() }
    }

    /// Whom these authorities say that the certificates are for. They are asked once a generation, and once in a while.
    pub(super) fn subject(
        &self,
        role: Role,
        authorities: &ClientAuthorities,
        generation: u64,
        now: Instant,
    ) -> Option<Subject> {
        let mut verdicts = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
        let [front_proxy, client] = &mut *verdicts;
        let verdict = match role {
            Role::FrontProxy => front_proxy,
            Role::Client => client,
        };
        let holds = |verdict: &&Verdict| verdict.generation == generation && now < verdict.until;
        if let Some(verdict) = verdict.as_ref().filter(holds) {
            return verdict.subject.clone();
        }
        let subject = authorities.subject(&self.chain);
        *verdict = Some(Verdict { generation, until: now + HOLDS, subject: subject.clone() });
        subject
    }
}

impl fmt::Debug for ClientCertificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientCertificates({})", self.chain.len())
    }
}

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

/// Asks for a certificate and takes any chain that is short, or none.
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

    /// Takes any that are few and small.
    fn verify_client_cert(
        &self,
        own: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        let size = intermediates.iter().fold(own.len(), |size, certificate| size + certificate.len());
        if intermediates.len() > MOST_INTERMEDIATES || size > LARGEST_CHAIN {
            return Err(rustls::Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure));
        }
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

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

    use super::*;

    fn authority() -> CertifiedIssuer<'static, KeyPair> {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap()
    }

    #[test]
    fn authorities_are_asked_once_a_generation_and_once_a_minute() {
        let (vouches, does_not) = (authority(), authority());
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.distinguished_name.push(DnType::CommonName, "bob");
        parameters.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
        let own = parameters.signed_by(&KeyPair::generate().unwrap(), &vouches).unwrap();
        let shown = ClientCertificates::new(&[own.der().clone()]);
        let [vouches, does_not] =
            [vouches, does_not].map(|authority| ClientAuthorities::read(&authority.pem()).unwrap());
        let now = Instant::now();
        let is_known = |authorities, generation, now| {
            shown.subject(Role::Client, authorities, generation, now).is_some()
        };
        assert!(is_known(&vouches, 1, now));
        assert!(is_known(&does_not, 1, now + HOLDS / 2), "the same generation is not asked again");
        assert!(!is_known(&does_not, 1, now + HOLDS), "a minute later it is");
        assert!(is_known(&vouches, 2, now), "so is another generation");
        assert!(shown.subject(Role::FrontProxy, &does_not, 2, now).is_none(), "each role by itself");
    }
}

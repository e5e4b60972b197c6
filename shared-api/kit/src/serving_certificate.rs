//! The certificate that a server shows, made anew before it expires: connections that are open notice nothing, and
//! clients go on trusting the same authority.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, SystemTime};

use antrea_types::MinimumTls;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ClientHello, NoClientAuth, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::auth::AnyClientCertificate;
use crate::certificate::{Authority, CertificateError, StoredAuthority};
use crate::logging::chain;

/// How long a certificate is valid.
const LIFETIME: Duration = Duration::from_secs(365 * 24 * 3600);

/// How long before its end it is replaced.
const MARGIN: Duration = Duration::from_secs(73 * 24 * 3600);

/// How often its end is looked at. The clock of a machine may be set to another year while it runs.
const PERIOD: Duration = Duration::from_secs(60);

/// The certificate of a server and what vouches for it.
pub struct ServingCertificate {
    lifetime: Duration,
    shown: RwLock<Shown>,
}

struct Shown {
    authority: Authority,
    issued: Issued,
}

#[derive(Clone)]
struct Issued {
    key: Arc<CertifiedKey>,
    at: SystemTime,
    lifetime: Duration,
}

impl Issued {
    /// For `longest`, unless what vouches for it ends before.
    fn by(authority: &Authority, now: SystemTime, longest: Duration) -> Result<Self, CertificateError> {
        let lifetime = authority.lifetime(now, longest);
        Ok(Self { key: authority.issue(now, lifetime)?, at: now, lifetime })
    }
}

impl ServingCertificate {
    /// Makes one for host names and IP addresses. `subject` is the common name.
    ///
    /// # Errors
    /// When a name is neither a host name nor an address.
    pub fn generate(subject: &str, names: &[String]) -> Result<Arc<Self>, CertificateError> {
        Self::issued_by(&StoredAuthority::generate(subject)?, subject, names)
    }

    /// The same, of an authority that other processes share: clients trust them all alike. `subject` is that which the
    /// authority was made with.
    ///
    /// # Errors
    /// When a name is neither a host name nor an address, or the authority cannot be read.
    pub fn issued_by(
        authority: &StoredAuthority,
        subject: &str,
        names: &[String],
    ) -> Result<Arc<Self>, CertificateError> {
        let authority = Authority::restore(subject, names, authority)?;
        Self::valid_for(authority, SystemTime::now(), LIFETIME)
    }

    fn valid_for(
        authority: Authority,
        now: SystemTime,
        lifetime: Duration,
    ) -> Result<Arc<Self>, CertificateError> {
        let issued = Issued::by(&authority, now, lifetime)?;
        Ok(Arc::new(Self { lifetime, shown: RwLock::new(Shown { authority, issued }) }))
    }

    /// The certificate that clients need to trust this process, PEM: the same until [`Self::reissue`].
    pub fn ca_pem(&self) -> String {
        self.read().authority.pem().to_owned()
    }

    /// Goes over to a certificate of another authority, for the same names. Connections that are open notice nothing.
    ///
    /// # Errors
    /// When the authority cannot be read; then everything stays as it is.
    pub fn reissue(&self, authority: &StoredAuthority) -> Result<(), CertificateError> {
        let authority = self.read().authority.followed_by(authority)?;
        let issued = Issued::by(&authority, SystemTime::now(), self.lifetime)?;
        *self.write() = Shown { authority, issued };
        Ok(())
    }

    /// What a server needs to speak TLS with whatever certificate is current then.
    ///
    /// # Errors
    /// When TLS does not take the versions.
    pub fn server_config(
        self: &Arc<Self>,
        minimum: MinimumTls,
    ) -> Result<Arc<ServerConfig>, CertificateError> {
        let mut config = self.configure(minimum, Arc::new(NoClientAuth))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    /// The same for a server of an aggregated API: it speaks HTTP/2, too, and asks clients for certificates, any or none.
    ///
    /// # Errors
    /// When TLS does not take the versions.
    pub fn aggregated_server_config(
        self: &Arc<Self>,
        minimum: MinimumTls,
    ) -> Result<Arc<ServerConfig>, CertificateError> {
        let mut config = self.configure(minimum, AnyClientCertificate::new())?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    fn configure(
        self: &Arc<Self>,
        minimum: MinimumTls,
        clients: Arc<dyn ClientCertVerifier>,
    ) -> Result<ServerConfig, CertificateError> {
        let versions: &[_] = match minimum {
            MinimumTls::V1_2 => &[&rustls::version::TLS13, &rustls::version::TLS12],
            MinimumTls::V1_3 => &[&rustls::version::TLS13],
        };
        let resolver: Arc<dyn ResolvesServerCert> = Arc::<Self>::clone(self);
        Ok(ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(versions)
            .map_err(CertificateError::Use)?
            .with_client_cert_verifier(clients)
            .with_cert_resolver(resolver))
    }

    /// Makes a new certificate whenever the present one is about to expire, until `stop`.
    ///
    /// # Errors
    /// Never: what cannot be made now may be a minute later. The type is that of a component.
    pub async fn keep_valid(self: Arc<Self>, stop: CancellationToken) -> anyhow::Result<()> {
        while stop.run_until_cancelled(tokio::time::sleep(PERIOD)).await.is_some() {
            match self.renew_if_due(SystemTime::now()) {
                Ok(Renewal::Renewed) => info!("The certificate of the API was renewed"),
                Ok(Renewal::NotDue) => {}
                Err(error) => warn!(error = %chain(&error), "The certificate of the API was not renewed"),
            }
        }
        Ok(())
    }

    fn renew_if_due(&self, now: SystemTime) -> Result<Renewal, CertificateError> {
        let mut shown = self.write();
        let Shown { authority, issued } = &*shown;
        // One more certificate of an authority that has ended is worth as little.
        let is_over = authority.lifetime(now, self.lifetime).is_zero();
        if is_over || !is_due(issued.at, now, issued.lifetime) {
            return Ok(Renewal::NotDue);
        }
        shown.issued = Issued::by(authority, now, self.lifetime)?;
        Ok(Renewal::Renewed)
    }

    fn current(&self) -> Issued {
        self.read().issued.clone()
    }

    fn read(&self) -> RwLockReadGuard<'_, Shown> {
        self.shown.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Shown> {
        self.shown.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Renewal {
    Renewed,
    NotDue,
}

/// Also when the clock was set back behind the moment of issue: by that clock the certificate lasts too long.
fn is_due(issued: SystemTime, now: SystemTime, lifetime: Duration) -> bool {
    now.duration_since(issued).map_or(true, |age| age + MARGIN.min(lifetime / 5) >= lifetime)
}

impl ResolvesServerCert for ServingCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current().key)
    }
}

impl fmt::Debug for ServingCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServingCertificate").field("issued", &self.current().at).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

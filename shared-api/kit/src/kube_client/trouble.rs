//! What kind of trouble a request has had, whatever its text says. Texts have times, ports and addresses of their own:
//! two that differ may tell of the same.

use std::error::Error;
use std::io;
use std::iter::successors;

use kube::core::Status;
use rustls::CertificateError;
use tokio::time::error::Elapsed;

use super::AccessError;

/// The longest text of an API server that is repeated.
const LONGEST: usize = 512;

/// Why a request was not answered well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// There is no connection, or it broke.
    Unreachable,
    /// There was no answer in time.
    Silent,
    /// The server could not prove who it is.
    Tls(TlsTrouble),
    /// It does not know who asks (401).
    Unauthorized,
    /// It does not take the request, and says so in these words.
    Refused(String),
    /// It has no such resource, or no such Namespace (404).
    NotServed,
    /// It answers with this HTTP status, and may answer well later.
    Failing(u16),
    /// Something else, such as an answer that cannot be read.
    Other,
}

/// Why a server could not prove who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsTrouble {
    /// Its certificate has expired.
    Expired,
    /// Its certificate is not valid yet.
    NotYetValid,
    /// Its certificate was issued by an authority that is not trusted.
    UnknownIssuer,
    /// Its certificate is for another name or address.
    WrongName,
    /// Something else.
    Other,
}

impl Trouble {
    /// What an error tells of.
    pub fn of(error: &anyhow::Error) -> Self {
        let otherwise = if causes(error).any(is_transport) { Self::Unreachable } else { Self::Other };
        causes(error).find_map(Self::of_one).unwrap_or(otherwise)
    }

    fn of_one(error: &(dyn Error + 'static)) -> Option<Self> {
        if let Some(kube::Error::Api(status)) = error.downcast_ref() {
            return Some(Self::of_status(status));
        }
        if let Some(error) = error.downcast_ref::<rustls::Error>() {
            return Some(Self::Tls(TlsTrouble::of(error)));
        }
        let is_late = error.is::<Elapsed>()
            || matches!(error.downcast_ref(), Some(AccessError::Timeout(_)))
            || error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::TimedOut);
        is_late.then_some(Self::Silent)
    }

    fn of_status(status: &Status) -> Self {
        match status.code {
            400 | 403 | 412 | 413 | 422 => {
                let words = &status.message;
                Self::Refused(words.get(..words.floor_char_boundary(LONGEST)).unwrap_or(words).to_owned())
            }
            401 => Self::Unauthorized,
            404 => Self::NotServed,
            code => Self::Failing(code),
        }
    }
}

impl TlsTrouble {
    fn of(error: &rustls::Error) -> Self {
        let rustls::Error::InvalidCertificate(certificate) = error else { return Self::Other };
        match certificate {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Self::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => Self::NotYetValid,
            // An authority that was made again under its name has another key.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => Self::UnknownIssuer,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Self::WrongName
            }
            _ => Self::Other,
        }
    }
}

/// An error and its causes. I/O errors name the causes of what they hold, and not what they hold.
fn causes(error: &anyhow::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let outermost: &(dyn Error + 'static) = error.as_ref();
    successors(Some(outermost), |&error| {
        match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(held) => Some(held as &(dyn Error + 'static)),
            None => error.source(),
        }
    })
}

fn is_transport(error: &(dyn Error + 'static)) -> bool {
    let of_kube = matches!(
        error.downcast_ref(),
        Some(kube::Error::Service(_) | kube::Error::HyperError(_) | kube::Error::ReadEvents(_))
    );
    of_kube || error.is::<io::Error>() || error.is::<hyper::Error>()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anyhow::Context;
    use rustls::pki_types::UnixTime;

    use super::*;

    fn answered(code: u16, message: &str) -> anyhow::Error {
        kube::Error::Api(Status::failure(message, "Reason").with_code(code).boxed()).into()
    }

    /// A request that got so far, as kube tells of it.
    fn sent(error: impl Into<Box<dyn Error + Send + Sync>>) -> anyhow::Error {
        let error = kube::Error::Service(io::Error::other(error).into());
        Err::<(), _>(error).context("cannot send").unwrap_err()
    }

    fn tls(certificate: CertificateError) -> anyhow::Error {
        let handshake =
            io::Error::new(io::ErrorKind::InvalidData, rustls::Error::InvalidCertificate(certificate));
        sent(handshake)
    }

    fn expired(now: u64) -> anyhow::Error {
        let time = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        tls(CertificateError::ExpiredContext { time: time(now), not_after: time(0) })
    }

    #[test]
    fn each_error_has_its_class_and_no_number_of_its_own() {
        let all = [
            (sent(io::Error::from(io::ErrorKind::ConnectionRefused)), Trouble::Unreachable),
            (sent("the connection was closed"), Trouble::Unreachable),
            (sent(io::Error::from(io::ErrorKind::TimedOut)), Trouble::Silent),
            (AccessError::Timeout(Duration::from_secs(30)).into(), Trouble::Silent),
            (expired(1), Trouble::Tls(TlsTrouble::Expired)),
            (tls(CertificateError::NotValidYet), Trouble::Tls(TlsTrouble::NotYetValid)),
            (tls(CertificateError::UnknownIssuer), Trouble::Tls(TlsTrouble::UnknownIssuer)),
            (tls(CertificateError::NotValidForName), Trouble::Tls(TlsTrouble::WrongName)),
            (tls(CertificateError::Revoked), Trouble::Tls(TlsTrouble::Other)),
            (answered(401, "who are you"), Trouble::Unauthorized),
            (answered(403, "not yours"), Trouble::Refused("not yours".to_owned())),
            (answered(404, "not found"), Trouble::NotServed),
            (answered(500, "in trouble since 10:07"), Trouble::Failing(500)),
            (anyhow::anyhow!("no JSON"), Trouble::Other),
        ];
        for (error, expected) in all {
            assert_eq!(Trouble::of(&error), expected, "{error:?}");
        }
        assert_ne!(format!("{:?}", expired(1)), format!("{:?}", expired(2)));
        assert_eq!(Trouble::of(&expired(1)), Trouble::of(&expired(2)));
    }

    #[test]
    fn what_an_api_server_says_at_length_is_cut_between_two_characters() {
        let Trouble::Refused(words) = Trouble::of(&answered(422, &"ä".repeat(300))) else { panic!() };
        assert_eq!(words, "ä".repeat(256));
        let Trouble::Refused(words) = Trouble::of(&answered(422, &format!("a{}", "ä".repeat(300)))) else {
            panic!()
        };
        assert_eq!(words.len(), 511);
    }
}

//! The Secret that keeps the certificate authorities of webhooks.

use std::collections::BTreeMap;
use std::time::SystemTime;

use antrea_kit::api::{CertificateError, StoredAuthority};
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;

use super::authorities::{Authorities, Beside};

/// Its name.
pub(super) const SECRET: &str = "antrea-mc-webhook-ca";
/// Its type: others mean something to Kubernetes.
pub(super) const TYPE: &str = "Opaque";

/// The keys of an authority: its certificate, its key, and when it ends.
type Keys = [&'static str; 3];

const CURRENT: Keys = ["ca.crt", "ca.key", "ca.ends"];
const NEXT: Keys = ["next.crt", "next.key", "next.ends"];
const FORMER: &str = "former.crt";

/// What a Secret keeps; nothing where something is missing, as in the empty one of the chart.
///
/// # Errors
/// When the authority in it is none.
pub(super) fn read(secret: &Secret) -> Result<Option<Authorities>, CertificateError> {
    let Some(current) = authority(secret, CURRENT)? else { return Ok(None) };
    // Another one is made in the place of one that cannot follow.
    let next = authority(secret, NEXT).ok().flatten().map(Beside::Next);
    let former = || text(secret, FORMER).map(Beside::Former);
    let beside = next.or_else(former).unwrap_or(Beside::Nobody);
    Ok(Some(Authorities { current, beside }))
}

fn authority(secret: &Secret, keys: Keys) -> Result<Option<StoredAuthority>, CertificateError> {
    let [certificate, key, ends] = keys.map(|key| text(secret, key));
    let (Some(certificate), Some(key)) = (certificate, key) else { return Ok(None) };
    let ends = ends.and_then(|ends| ends.parse::<Timestamp>().ok()).map(SystemTime::from);
    let authority = StoredAuthority { certificate, key, ends };
    authority.check()?;
    Ok(Some(authority))
}

fn text(secret: &Secret, key: &str) -> Option<String> {
    let text = String::from_utf8(secret.data.as_ref()?.get(key)?.0.clone()).ok()?;
    (!text.is_empty()).then_some(text)
}

/// What each of its keys has then, or that it is not there.
pub(super) fn data(authorities: &Authorities) -> BTreeMap<String, Option<ByteString>> {
    let (next, former) = match &authorities.beside {
        Beside::Nobody => (None, None),
        Beside::Next(next) => (Some(next), None),
        Beside::Former(certificate) => (None, Some(certificate.clone())),
    };
    let all = texts(CURRENT, Some(&authorities.current)).into_iter().chain(texts(NEXT, next));
    let all = all.chain([(FORMER, former)]);
    all.map(|(key, text)| (key.to_owned(), text.map(|text| ByteString(text.into_bytes())))).collect()
}

fn texts(keys: Keys, authority: Option<&StoredAuthority>) -> [(&'static str, Option<String>); 3] {
    let [certificate, key, ends] = keys;
    let text = |of: fn(&StoredAuthority) -> String| authority.map(of);
    let end = authority.and_then(|authority| Timestamp::try_from(authority.ends?).ok());
    [
        (certificate, text(|authority| authority.certificate.clone())),
        (key, text(|authority| authority.key.clone())),
        (ends, end.map(|end| end.to_string())),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::authorities::Step;
    use super::*;

    /// A Secret with what there is of the data, and what is read from it.
    fn kept(authorities: &Authorities) -> (Secret, Option<Authorities>) {
        let data = data(authorities).into_iter().filter_map(|(key, text)| Some((key, text?))).collect();
        let secret = Secret { data: Some(data), ..Secret::default() };
        let read = read(&secret).unwrap();
        (secret, read)
    }

    #[test]
    fn what_was_kept_is_read_again_at_each_step() {
        let now = SystemTime::now();
        let mut authorities = Authorities::generate(now).unwrap();
        for step in [Step::Prepare, Step::Switch, Step::Forget] {
            assert_eq!(kept(&authorities).1.as_ref(), Some(&authorities));
            authorities = authorities.after(step, now).unwrap();
        }
        let (secret, read) = kept(&authorities);
        assert_eq!(read.as_ref(), Some(&authorities));
        let keys: Vec<String> = secret.data.unwrap().into_keys().collect();
        assert_eq!(keys, ["ca.crt", "ca.ends", "ca.key"]);
    }

    #[test]
    fn the_key_of_a_former_authority_is_not_kept() {
        let now = SystemTime::now();
        let first = Authorities::generate(now).unwrap();
        let switched = first.after(Step::Prepare, now).unwrap().after(Step::Switch, now).unwrap();
        let (secret, _) = kept(&switched);
        let is_key = |text: &ByteString| text.0 == first.current.key.as_bytes();
        assert!(!secret.data.unwrap().values().any(is_key));
    }

    #[test]
    fn what_an_earlier_version_kept_has_no_end_and_what_was_damaged_is_an_error() {
        let (mut secret, _) = kept(&Authorities::generate(SystemTime::now()).unwrap());
        let data = secret.data.as_mut().unwrap();
        data.remove("ca.ends");
        assert_eq!(read(&secret).unwrap().unwrap().current.ends, None);
        secret.data.as_mut().unwrap().insert("ca.key".to_owned(), ByteString(b"none".to_vec()));
        assert!(read(&secret).is_err());
        secret.data = None;
        assert_eq!(read(&secret).unwrap(), None);
    }
}

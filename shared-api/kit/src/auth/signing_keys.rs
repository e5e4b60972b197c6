//! Tokens of ServiceAccounts that the cluster has signed, told from made-up ones by the keys that its API server publishes
//! (RFC 7517). They are reviewed all the same, as they may be revoked, but need not queue with what anybody can make up.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hyper::http::Request;
use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use kube::Client;
use serde::de::IgnoredAny;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::timeout;
use tracing::warn;

use crate::logging::chain;

/// Where an API server publishes its keys. By default every ServiceAccount may read them.
const PATH: &str = "/openid/v1/jwks";

/// A token may name a key that nobody has: the API server is asked for its keys no more often than this,
const ASKED_EVERY: Duration = Duration::from_secs(10);

/// and whoever sends the token waits no longer than this.
const PATIENCE: Duration = Duration::from_secs(1);

/// More keys than any API server has.
const MOST: usize = 64;

/// What an API server signs with (`--service-account-signing-key-file`). Nothing that is symmetric: those who know the key to
/// verify with could sign.
const ALGORITHMS: [Algorithm; 5] =
    [Algorithm::RS256, Algorithm::RS384, Algorithm::RS512, Algorithm::ES256, Algorithm::ES384];

/// The public keys of an API server.
pub(super) struct SigningKeys {
    client: Client,
    /// When they were asked for, held while they are.
    asked: AsyncMutex<Option<Instant>>,
    keys: Mutex<BTreeMap<String, DecodingKey>>,
}

impl std::fmt::Debug for SigningKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningKeys")
    }
}

impl SigningKeys {
    /// Those of the API server of `client`, which is asked for them with the first token.
    pub(super) fn new(client: Client) -> Self {
        Self { client, asked: AsyncMutex::default(), keys: Mutex::default() }
    }

    /// Whether a token was signed with one of them and has not expired. While the API server does not tell its keys, none was.
    pub(super) async fn have_signed(&self, token: &str) -> bool {
        let Some(id) = decode_header(token).ok().and_then(|header| header.kid) else { return false };
        if !self.has(&id) {
            self.ask_for(&id).await;
        }
        is_signed_by(&self.keys.lock().unwrap_or_else(PoisonError::into_inner), token)
    }

    fn has(&self, id: &str) -> bool {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).contains_key(id)
    }

    /// All wait for one who asks: agents come at once after a restart.
    async fn ask_for(&self, id: &str) {
        let mut asked = self.asked.lock().await;
        let now = Instant::now();
        if self.has(id) || asked.is_some_and(|before| now.duration_since(before) < ASKED_EVERY) {
            return;
        }
        *asked = Some(now);
        match timeout(PATIENCE, self.ask()).await.context("the API server does not answer").flatten() {
            Ok(keys) => *self.keys.lock().unwrap_or_else(PoisonError::into_inner) = keys,
            Err(error) => {
                let error = chain(error.as_ref());
                warn!(error, path = PATH, "Tokens cannot be told from made-up ones before they are reviewed");
            }
        }
    }

    async fn ask(&self) -> Result<BTreeMap<String, DecodingKey>> {
        let request = Request::get(PATH).body(Vec::new()).context("no request")?;
        let text = self.client.request_text(request).await.context("its keys cannot be read")?;
        keys(&text).context("its keys are not understood")
    }
}

fn keys(text: &str) -> Result<BTreeMap<String, DecodingKey>, serde_json::Error> {
    let set: JwkSet = serde_json::from_str(text)?;
    let key = |key: &Jwk| Some((key.common.key_id.clone()?, DecodingKey::from_jwk(key).ok()?));
    Ok(set.keys.iter().filter_map(key).take(MOST).collect())
}

/// Whoever it is for: the review says whether it is for us.
fn is_signed_by(keys: &BTreeMap<String, DecodingKey>, token: &str) -> bool {
    let Ok(header) = decode_header(token) else { return false };
    let Some(key) = header.kid.and_then(|id| keys.get(&id)) else { return false };
    let mut validation = Validation::new(header.alg);
    validation.validate_aud = false;
    // Those that stand in Secrets never expire.
    validation.required_spec_claims.clear();
    ALGORITHMS.contains(&header.alg) && decode::<IgnoredAny>(token, key, &validation).is_ok()
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::{EncodingKey, Header, encode};
    use rcgen::KeyPair;
    use serde_json::{Value, json};

    use super::*;

    /// Made with OpenSSL; a token like those in Secrets, which never expire.
    const RSA: &str = include_str!("../../tests/golden/rsa.jwks.json");
    const RSA_TOKEN: &str = include_str!("../../tests/golden/rsa.token");

    const LATE: u64 = 4_102_444_800;

    /// A key with which tokens are signed, and what is published of it.
    struct Signer(EncodingKey);

    impl Signer {
        fn new() -> Self {
            Self(EncodingKey::from_ec_der(&KeyPair::generate().unwrap().serialize_der()))
        }

        fn sign(&self, claims: &Value) -> String {
            let header = Header { kid: Some("ours".to_owned()), ..Header::new(Algorithm::ES256) };
            encode(&header, claims, &self.0).unwrap()
        }

        fn published(&self) -> String {
            let mut key = Jwk::from_encoding_key(&self.0, Algorithm::ES256).unwrap();
            key.common.key_id = Some("ours".to_owned());
            json!({"keys": [{"kty": "unheard-of", "kid": "other"}, key]}).to_string()
        }
    }

    /// Whether a token counts as signed, where these keys are published.
    fn check(published: &str, token: &str) -> bool {
        is_signed_by(&keys(published).unwrap(), token)
    }

    #[test]
    fn a_token_counts_that_the_cluster_has_signed_whoever_it_is_for() {
        let ours = Signer::new();
        for claims in [json!({"sub": "x", "exp": LATE, "aud": ["antrea-controller"]}), json!({"sub": "x"})] {
            assert!(check(&ours.published(), &ours.sign(&claims)), "{claims}");
        }
        assert!(check(RSA, RSA_TOKEN.trim_end()));
    }

    #[test]
    fn what_anybody_can_make_up_does_not() {
        let (ours, theirs) = (Signer::new(), Signer::new());
        let (published, claims) = (ours.published(), json!({"sub": "x", "exp": LATE}));
        let good = ours.sign(&claims);
        let parts: Vec<&str> = good.split('.').collect();
        let [header, payload, signature] = parts[..] else { panic!("{good}") };
        let other_payload = ours.sign(&json!({"sub": "y", "exp": LATE}));
        let other_payload = other_payload.split('.').nth(1).unwrap();
        for made_up in [
            String::new(),
            "made-up".to_owned(),
            "..".to_owned(),
            theirs.sign(&claims),
            ours.sign(&json!({"sub": "x", "exp": 1})),
            format!("{header}.{other_payload}.{signature}"),
            format!("{header}.{payload}."),
            format!("{header}.{payload}.{signature}="),
            format!("{header}.{payload}.{signature}.{signature}"),
            RSA_TOKEN.trim_end().to_owned(),
        ] {
            assert!(!check(&published, &made_up), "{made_up}");
        }
        assert!(check(&published, &good));
    }

    /// The public key is no secret to sign with (RFC 8725 §2.1), nor is no key at all.
    #[test]
    fn the_algorithm_is_that_of_the_key() {
        let ours = Signer::new();
        let claims = json!({"sub": "x", "exp": LATE});
        for secret in [ours.published().into_bytes(), RSA.as_bytes().to_vec(), Vec::new()] {
            let header = Header { kid: Some("ours".to_owned()), ..Header::new(Algorithm::HS256) };
            let token = encode(&header, &claims, &EncodingKey::from_secret(&secret)).unwrap();
            assert!(!check(&ours.published(), &token));
        }
        let unsigned = "eyJhbGciOiJub25lIiwia2lkIjoib3VycyJ9.eyJzdWIiOiJ4In0.";
        assert!(!check(&ours.published(), unsigned));
    }

    #[test]
    fn what_is_no_set_of_keys_is_none() {
        for text in ["", "{}", "[]", r#"{"keys": 7}"#] {
            assert!(keys(text).is_err(), "{text}");
        }
        assert!(keys(r#"{"keys": [{"kty": "RSA", "kid": "x", "n": "!", "e": ""}]}"#).unwrap().is_empty());
    }
}

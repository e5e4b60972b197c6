//! Tokens of ServiceAccounts that the cluster has signed, told from made-up ones by the keys that its API server publishes
//! (RFC 7517). They are reviewed all the same, as they may be revoked, but need not queue with what anybody can make up.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

/// The least time between two requests for the keys, since anybody can name a key that nobody has.
const ASKED_EVERY: Duration = Duration::from_secs(10);

/// The same after a request that failed.
const ASKED_AGAIN: Duration = Duration::from_secs(1);

/// How long such a request may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// More keys than any API server has.
const MOST: usize = 64;

/// What an API server signs with (`--service-account-signing-key-file`), but for ES512, which the library does not have. Nothing
/// that is symmetric: those who know the key to verify with could sign.
const ALGORITHMS: [Algorithm; 5] =
    [Algorithm::RS256, Algorithm::RS384, Algorithm::RS512, Algorithm::ES256, Algorithm::ES384];

/// The public keys of an API server.
pub(super) struct SigningKeys {
    client: Client,
    /// Held while the keys are asked for.
    asking: AsyncMutex<()>,
    known: Arc<Mutex<Known>>,
}

#[derive(Default)]
struct Known {
    keys: BTreeMap<String, DecodingKey>,
    /// Earliest time of the next request.
    not_before: Option<Instant>,
    /// The last failure, which was logged.
    failure: Option<String>,
}

impl std::fmt::Debug for SigningKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningKeys")
    }
}

impl SigningKeys {
    /// Those of the API server of `client`, which is asked for them with the first token.
    pub(super) fn new(client: Client) -> Self {
        Self { client, asking: AsyncMutex::default(), known: Arc::default() }
    }

    /// Whether a token was signed with one of them and has not expired. While the API server does not tell its keys, none was.
    pub(super) async fn have_signed(&self, token: &str) -> bool {
        let Some(id) = decode_header(token).ok().and_then(|header| header.kid) else { return false };
        let key = match self.key(&id) {
            None => {
                self.ask_for(&id).await;
                self.key(&id)
            }
            known => known,
        };
        key.is_some_and(|key| is_signed_by(&key, token))
    }

    fn key(&self, id: &str) -> Option<DecodingKey> {
        lock(&self.known).keys.get(id).cloned()
    }

    /// Agents come at once after a restart, so one request serves all that wait. It runs in a task of its own, and completes even if
    /// the client whose token caused it disconnects.
    async fn ask_for(&self, id: &str) {
        // Before the lock: an answer that somebody waited for is theirs too, even if there was none.
        let now = Instant::now();
        let _asking = self.asking.lock().await;
        if lock(&self.known).may_ask_for(id, now) {
            let asked = tokio::spawn(ask(self.client.clone(), Arc::clone(&self.known), now));
            // If the task panicked, the keys are as before.
            let _ = asked.await;
        }
    }
}

impl Known {
    /// Whether to request the keys now. Once it returns true, it returns false for [`ASKED_EVERY`].
    fn may_ask_for(&mut self, id: &str, now: Instant) -> bool {
        let may = !self.keys.contains_key(id) && self.not_before.is_none_or(|then| then <= now);
        if may {
            self.not_before = Some(now + ASKED_EVERY);
        }
        may
    }

    fn learn(&mut self, answer: Result<BTreeMap<String, DecodingKey>>, asked: Instant) {
        match answer {
            Ok(keys) => (self.keys, self.failure) = (keys, None),
            Err(error) => {
                self.not_before = Some(asked + ASKED_AGAIN);
                let error = chain(error.as_ref());
                if self.failure.as_ref() != Some(&error) {
                    warn!(
                        error,
                        path = PATH,
                        "Tokens that the cluster signed are not told from made-up ones"
                    );
                    self.failure = Some(error);
                }
            }
        }
    }
}

fn lock(known: &Mutex<Known>) -> MutexGuard<'_, Known> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn ask(client: Client, known: Arc<Mutex<Known>>, now: Instant) {
    let answer = async {
        let request = Request::get(PATH).body(Vec::new()).context("no request")?;
        let text = client.request_text(request).await.context("its keys cannot be read")?;
        keys(&text).context("its keys are not understood")
    };
    let answer = timeout(PATIENCE, answer).await.context("the API server does not answer").flatten();
    lock(&known).learn(answer, now);
}

fn keys(text: &str) -> Result<BTreeMap<String, DecodingKey>, serde_json::Error> {
    let set: JwkSet = serde_json::from_str(text)?;
    let key = |key: &Jwk| Some((key.common.key_id.clone()?, DecodingKey::from_jwk(key).ok()?));
    Ok(set.keys.iter().filter_map(key).take(MOST).collect())
}

/// Whoever it is for: the review says whether it is for us.
fn is_signed_by(key: &DecodingKey, token: &str) -> bool {
    let Ok(header) = decode_header(token) else { return false };
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
        let id = decode_header(token).ok().and_then(|header| header.kid);
        let keys = keys(published).unwrap();
        id.and_then(|id| keys.get(&id)).is_some_and(|key| is_signed_by(key, token))
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
    fn keys_are_asked_for_once_in_a_while_and_sooner_after_a_failure() {
        let (mut known, now) = (Known::default(), Instant::now());
        assert!(known.may_ask_for("ours", now));
        assert!(!known.may_ask_for("made-up", now + ASKED_EVERY / 2));
        known.learn(Err(anyhow::anyhow!("away")), now);
        assert!(
            !known.may_ask_for("ours", now + ASKED_AGAIN / 2) && known.may_ask_for("ours", now + ASKED_AGAIN)
        );
        known.learn(Ok(keys(&Signer::new().published()).unwrap()), now);
        assert!(!known.may_ask_for("ours", now + ASKED_EVERY * 2), "it is known");
        assert!(known.may_ask_for("made-up", now + ASKED_EVERY * 2));
    }

    #[test]
    fn what_is_no_set_of_keys_is_none() {
        for text in ["", "{}", "[]", r#"{"keys": 7}"#] {
            assert!(keys(text).is_err(), "{text}");
        }
        assert!(keys(r#"{"keys": [{"kty": "RSA", "kid": "x", "n": "!", "e": ""}]}"#).unwrap().is_empty());
    }
}

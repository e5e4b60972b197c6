//! For whom a token says that it is: the audiences of a JSON Web Token (RFC 7519 §4.1.3). Nothing is believed of it; it says
//! which question the API server is asked.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

#[derive(Deserialize)]
struct Claims {
    aud: Audiences,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audiences {
    One(String),
    Several(Vec<String>),
}

/// Whether a token says that it is for this audience.
pub(super) fn is_for(token: &str, audience: &str) -> bool {
    match claims(token).map(|claims| claims.aud) {
        Some(Audiences::One(one)) => one == audience,
        Some(Audiences::Several(all)) => all.iter().any(|one| one == audience),
        None => false,
    }
}

fn claims(token: &str) -> Option<Claims> {
    let claims = token.split('.').nth(1)?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(claims: &str, expected: bool) {
        let token = format!("head.{}.signature", URL_SAFE_NO_PAD.encode(claims));
        assert_eq!(is_for(&token, "antrea-controller"), expected, "{claims}");
    }

    #[test]
    fn a_token_says_for_whom_it_is() {
        check(r#"{"aud": ["antrea-controller"], "sub": "x"}"#, true);
        check(r#"{"aud": ["https://kubernetes.default.svc", "antrea-controller"]}"#, true);
        check(r#"{"aud": "antrea-controller"}"#, true);
        check(r#"{"aud": ["https://kubernetes.default.svc"]}"#, false);
        check(r#"{"sub": "antrea-controller"}"#, false);
        check(r#"{"aud": 7}"#, false);
    }

    #[test]
    fn what_is_no_such_token_is_for_nobody_in_particular() {
        for token in ["", "antrea-controller", "..", "a.!.c", "a.e30.c"] {
            assert!(!is_for(token, "antrea-controller"), "{token}");
        }
    }
}

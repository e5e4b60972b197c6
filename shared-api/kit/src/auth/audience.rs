//! For whom a token says that it is: the audiences of a JSON Web Token (RFC 7519 §4.1.3). Nothing is believed of it; it says
//! which question the API server is asked.

use jsonwebtoken::dangerous::insecure_decode_claims;
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
    match insecure_decode_claims::<Claims>(token).map(|claims| claims.aud) {
        Ok(Audiences::One(one)) => one == audience,
        Ok(Audiences::Several(all)) => all.iter().any(|one| one == audience),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

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

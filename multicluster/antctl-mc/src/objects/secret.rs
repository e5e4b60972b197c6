//! The Secret by which a member reaches its leader: `ca.crt` and `token`.

use anyhow::{Context, Result, ensure};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use serde_json::Value;

use super::{is_made_by_antctl, made_by_antctl};

const OPAQUE: &str = "Opaque";
const CA: &str = "ca.crt";
const TOKEN: &str = "token";

/// What a member knows its leader by, and the leader the member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Credential {
    /// Certificates that vouch for the leader's API server, in PEM.
    pub(crate) ca: Vec<u8>,
    /// The Common Area.
    pub(crate) namespace: String,
    pub(crate) token: Vec<u8>,
}

impl Credential {
    /// What a Secret of the leader holds, once Kubernetes has written the token into it.
    pub(crate) fn of(secret: &Secret) -> Option<Self> {
        let value = |key| {
            let value = secret.data.as_ref()?.get(key)?;
            (!value.0.is_empty()).then(|| value.0.clone())
        };
        Some(Self { ca: value(CA)?, namespace: secret.namespace().unwrap_or_default(), token: value(TOKEN)? })
    }

    /// The Secret as it is carried to the member: it has no Namespace yet.
    pub(crate) fn manifest(&self, name: &str) -> Secret {
        let data =
            [(CA, &self.ca), ("namespace", &self.namespace.clone().into_bytes()), (TOKEN, &self.token)]
                .map(|(key, value)| (key.to_owned(), ByteString(value.clone())));
        Secret {
            metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
            data: Some(data.into()),
            type_: Some(OPAQUE.to_owned()),
            ..Secret::default()
        }
    }
}

/// Reads the manifest of a Secret.
pub(crate) fn parse(text: &str) -> Result<Secret> {
    let value: Value = serde_saphyr::from_str(text).context("this is not one document of YAML")?;
    from_value(value)
}

/// Reads a Secret and checks that a member can use it.
pub(crate) fn from_value(value: Value) -> Result<Secret> {
    let kind = value["kind"].as_str().unwrap_or_default();
    ensure!(kind == "Secret", "this is the manifest of kind {kind:?}: a Secret is needed");
    let mut secret: Secret = serde_json::from_value(value).context("this is no Secret")?;
    // The API server would do that, too.
    for (key, text) in secret.string_data.take().unwrap_or_default() {
        secret.data.get_or_insert_default().insert(key, ByteString(text.into_bytes()));
    }
    ensure!(secret.metadata.name.is_some(), "the Secret has no name");
    check(&secret)?;
    Ok(secret)
}

/// # Errors
/// When a member cannot use it.
pub(crate) fn check(secret: &Secret) -> Result<()> {
    let data = secret.data.as_ref();
    let lacks = |key: &&str| data.and_then(|data| data.get(*key)).is_none_or(|value| value.0.is_empty());
    let missing: Vec<&str> = [CA, TOKEN].into_iter().filter(lacks).collect();
    ensure!(
        missing.is_empty(),
        "Secret {} lacks {}: take what \"antctl mc create membertoken\" wrote in the leader",
        secret.name_any(),
        missing.join(" and ")
    );
    Ok(())
}

/// The Secret as it stands in the member.
pub(crate) fn of_member(namespace: &str, manifest: &Secret) -> Secret {
    Secret {
        metadata: made_by_antctl(namespace, &manifest.name_any()),
        data: manifest.data.clone(),
        type_: Some(OPAQUE.to_owned()),
        ..Secret::default()
    }
}

/// What there is to do about a Secret.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Write {
    Create(Secret),
    /// The token is a new one.
    Replace(Secret),
    Nothing,
}

/// # Errors
/// When somebody else made the Secret that is there.
pub(crate) fn plan(wanted: Secret, there: Option<Secret>) -> Result<Write> {
    let Some(mut there) = there else { return Ok(Write::Create(wanted)) };
    if there.data == wanted.data {
        return Ok(Write::Nothing);
    }
    ensure!(
        is_made_by_antctl(&there),
        "Secret {} is there already in Namespace {}, and antctl did not make it: delete it, or use it with --token-secret-name",
        there.name_any(),
        there.namespace().unwrap_or_default()
    );
    there.data = wanted.data;
    Ok(Write::Replace(there))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(token: &str) -> Secret {
        let credential = Credential {
            ca: b"ca".to_vec(),
            namespace: "antrea-multicluster".to_owned(),
            token: token.as_bytes().to_vec(),
        };
        credential.manifest("tok5")
    }

    #[test]
    fn what_is_written_for_a_member_is_what_it_reads() {
        let text = serde_saphyr::to_string(&manifest("t1")).unwrap();
        insta::assert_snapshot!(text);
        let secret = of_member("kube-system", &parse(&text).unwrap());
        insta::assert_snapshot!(serde_saphyr::to_string(&secret).unwrap());
    }

    #[track_caller]
    fn check_refused(text: &str, expected: &str) {
        assert_eq!(parse(text).unwrap_err().to_string(), expected);
    }

    #[test]
    fn what_a_member_cannot_use_is_refused() {
        check_refused("kind: ConfigMap", "this is the manifest of kind \"ConfigMap\": a Secret is needed");
        check_refused("kind: Secret\ndata: {token: dDE=}", "the Secret has no name");
        check_refused(
            "kind: Secret\nmetadata: {name: a}\nstringData: {ca.crt: ca, token: ''}",
            "Secret a lacks token: take what \"antctl mc create membertoken\" wrote in the leader",
        );
    }

    #[track_caller]
    fn check_plan(wanted: &str, there: Option<Secret>, expected: &str) {
        let text = match plan(of_member("kube-system", &manifest(wanted)), there) {
            Ok(Write::Create(_)) => "create".to_owned(),
            Ok(Write::Replace(secret)) => format!("replace {:?}", secret.data == manifest(wanted).data),
            Ok(Write::Nothing) => "nothing".to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(text, expected);
    }

    #[test]
    fn only_antctls_own_secret_gets_a_new_token() {
        let own = of_member("kube-system", &manifest("t1"));
        let mut foreign = own.clone();
        foreign.metadata.annotations = None;
        check_plan("t1", None, "create");
        check_plan("t1", Some(own.clone()), "nothing");
        check_plan("t1", Some(foreign.clone()), "nothing");
        check_plan("t2", Some(own), "replace true");
        check_plan(
            "t2",
            Some(foreign),
            "Secret tok5 is there already in Namespace kube-system, and antctl did not make it: delete it, or use it with --token-secret-name",
        );
    }
}

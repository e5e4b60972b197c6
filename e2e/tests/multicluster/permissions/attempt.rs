//! One attempt: a request with the token of a member, and what is expected to come of it.

use std::path::PathBuf;

use antrea_e2e::command::{Run as _, command};
use antrea_e2e::install::NAMESPACE;
use antrea_e2e::multicluster::cluster_set::{Member, TOKEN_SECRET};
use antrea_e2e::state;
use anyhow::{Context, Result};
use serde_json::Value;

use super::super::stage::Stage;
use super::find;

/// What somebody who has the token of a member tries.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::multicluster) struct Attempt {
    /// The resource, with its subresource, or what of it is forged.
    pub(in crate::multicluster) resource: String,
    /// Whose object.
    pub(in crate::multicluster) whose: String,
    /// What with it, in the words of RBAC.
    pub(in crate::multicluster) verb: String,
    /// The HTTP status of the answer.
    pub(in crate::multicluster) expected: u16,
    /// What the answer says.
    pub(in crate::multicluster) says: String,
    pub(in crate::multicluster) path: String,
    pub(in crate::multicluster) body: Value,
}

/// What came of an attempt.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::multicluster) struct Answer {
    pub(in crate::multicluster) code: u16,
    pub(in crate::multicluster) text: String,
}

impl Answer {
    pub(in crate::multicluster) fn is_expected(&self, attempt: &Attempt) -> bool {
        self.code == attempt.expected && self.text.contains(&attempt.says)
    }
}

/// Somebody who has the token of a member.
#[derive(Debug)]
pub(in crate::multicluster) struct Attacker {
    /// The member's ID.
    pub(in crate::multicluster) own: String,
    /// That of another member.
    pub(in crate::multicluster) other: String,
    /// A ResourceExport of the member, and one of the other.
    pub(in crate::multicluster) exports: [Value; 2],
    /// A ResourceImport.
    pub(in crate::multicluster) import: Value,
    /// Their announces.
    pub(in crate::multicluster) announces: [Value; 2],
    leader: String,
    ca: PathBuf,
    token: String,
}

impl Attacker {
    pub(in crate::multicluster) fn with_the_token_of(
        stage: &Stage,
        member: &Member,
        other: &Member,
    ) -> Result<Self> {
        let template = "go-template={{.data.token | base64decode}}";
        let token = member.kubectl.text(&["get", "secret", TOKEN_SECRET, "-n", NAMESPACE, "-o", template])?;
        let export = |of: &Member| {
            find(stage, "resourceexports", |spec| spec["clusterID"] == of.id() && spec["kind"] == "Service")
        };
        let announce = |of: &Member| {
            let area = antrea_e2e::multicluster::cluster_set::COMMON_AREA;
            stage.a()?.kubectl.json(&["get", "memberclusterannounce", "-n", area, &of.announce_name()])
        };
        let (plan, leader) = (stage.lab.plan(), stage.a()?.cluster);
        Ok(Self {
            own: member.id(),
            other: other.id(),
            exports: [export(member)?, export(other)?],
            import: find(stage, "resourceimports", |spec| spec["kind"] == "ServiceImport")?,
            announces: [announce(member)?, announce(other)?],
            leader: plan.cluster(leader)?.api_url()?,
            ca: state::cluster_folder(&plan.name, leader).join("pki/ca.crt"),
            token: token.trim().to_owned(),
        })
    }

    /// Makes an attempt. An object is updated at the version that it has: other updates are refused for that alone.
    pub(in crate::multicluster) fn make(&self, attempt: &Attempt) -> Result<Answer> {
        let Attempt { verb, path, body, .. } = attempt;
        if verb != "update" || body["metadata"].is_null() {
            return self.ask(verb, path, body);
        }
        let object = path.split('?').next().unwrap_or_default();
        let there: Value = serde_json::from_str(&self.ask("get", object, &Value::Null)?.text)?;
        let mut body = body.clone();
        body["metadata"]["resourceVersion"] = there["metadata"]["resourceVersion"].clone();
        self.ask(verb, path, &body)
    }

    /// curl does it in a tenth of the time that kubectl needs to start.
    fn ask(&self, verb: &str, path: &str, body: &Value) -> Result<Answer> {
        let (method, content) = method(verb);
        let url = format!("{}/{path}", self.leader);
        let mut curl =
            command("curl", &["-gsS", "--noproxy", "*", "--max-time", "20", "-w", "\n%{http_code}"]);
        curl.arg("--cacert").arg(&self.ca).args(["-X", method, "-H", content]);
        curl.args(["-H", &format!("Authorization: Bearer {}", self.token)]);
        let answer = if body.is_null() {
            curl.arg(&url).text()?
        } else {
            curl.args(["--data-binary", "@-", &url]).feed(&body.to_string())?
        };
        let (text, code) = answer.rsplit_once('\n').context("curl says no code")?;
        Ok(Answer { code: code.trim().parse()?, text: text.to_owned() })
    }
}

/// The HTTP method of a verb, and the header of its body.
fn method(verb: &str) -> (&'static str, &'static str) {
    const JSON: &str = "Content-Type: application/json";
    match verb {
        "create" => ("POST", JSON),
        "update" => ("PUT", JSON),
        "patch" => ("PATCH", "Content-Type: application/merge-patch+json"),
        "delete" | "deletecollection" => ("DELETE", JSON),
        _ => ("GET", JSON),
    }
}

//! The certificate authority of the leader's webhooks is replaced by another, and API servers trust the webhooks all the time.
//!
//! The elected replica takes a step an hour after it was started, and the next one ten minutes later: here the test takes them, as
//! another replica would.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use antrea_e2e::command::{Run as _, command};
use antrea_e2e::install::NAMESPACE;
use antrea_e2e::kubectl::Kubectl;
use antrea_e2e::multicluster::cluster_set::Member;
use antrea_e2e::names::Place;
use antrea_e2e::pki::Authority;
use antrea_e2e::scenario::{Extent, Part};
use antrea_e2e::topology::in_namespace;
use antrea_e2e::{state, wait};
use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::identity::wait_for_a_heartbeat;
use super::replicas::{PODS, Writes, set_replicas};
use super::stage::{Stage, on_the_stage_of, until};

/// Where it is kept.
const SECRET: &str = "antrea-mc-webhook-ca";
/// The subject of its certificate, as the webhooks' own certificates have it.
const SUBJECT: &str = "antrea-mc-controller-ca";
/// The name that API servers ask for, and the port.
const SERVER: &str = "antrea-mc-webhook-service.kube-system.svc";
const PORT: u16 = 9443;

/// The API server learns by a watch, within moments, which certificates to trust.
const HEARD: Duration = Duration::from_secs(5);

#[test]
fn the_authority_of_webhooks_is_replaced_while_heartbeats_go_on() {
    let name = "the_authority_of_webhooks_is_replaced_while_heartbeats_go_on";
    on_the_stage_of(Extent::Long(Part::One), name, |stage| {
        let leader = stage.a()?;
        set_replicas(stage, leader, 2)?;
        let next = Next::make(stage)?;
        let writes = Writes::start(stage, leader)?;
        next.take_over(stage, leader)?;
        [stage.b()?, stage.c()?].into_iter().try_for_each(|member| wait_for_a_heartbeat(stage, member))?;
        leader.kubectl.text(&["delete", "secret", SECRET, "-n", NAMESPACE])?;
        next.wait_until_it_is_back(&leader.kubectl)?;
        println!("{} writes were judged meanwhile", writes.end()?);
        set_replicas(stage, leader, 1)
    });
}

/// The authority that follows.
struct Next {
    authority: Authority,
    /// Its certificate.
    file: PathBuf,
    /// As the Secret has it: in base64.
    key: String,
    ends: String,
}

impl Next {
    fn make(stage: &Stage) -> Result<Self> {
        let folder = state::folder(&stage.lab.plan().name);
        let authority = Authority::create(&folder, SUBJECT)?;
        let key = folder.join(format!("{SUBJECT}.key"));
        let key = fs::read(&key).with_context(|| format!("cannot read {}", key.display()))?;
        let ends = command("date", &["--utc", "--date", "1 year", "+%FT%TZ"]).text()?;
        Ok(Self {
            authority,
            file: folder.join(format!("{SUBJECT}.crt")),
            key: BASE64_STANDARD.encode(key),
            ends: BASE64_STANDARD.encode(ends.trim()),
        })
    }

    /// As the Secret has it.
    fn certificate(&self) -> String {
        BASE64_STANDARD.encode(self.authority.certificate())
    }

    /// In three steps: it is trusted as well, it is the one that signs, and the former one is trusted no more.
    fn take_over(&self, stage: &Stage, leader: &Member) -> Result<()> {
        let (kubectl, own) = (&leader.kubectl, self.authority.certificate());
        let (certificate, Self { key, ends, .. }) = (self.certificate(), self);
        let former = secret(kubectl)?["data"]["ca.crt"].clone();
        write(kubectl, &json!({ "next.crt": certificate, "next.key": key, "next.ends": ends }))?;
        wait_for_trust(kubectl, &[&decoded(&former)?, own])?;
        wait::pause(HEARD);
        let current = json!({
            "ca.crt": certificate, "ca.key": key, "ca.ends": ends, "former.crt": former,
            "next.crt": null, "next.key": null, "next.ends": null,
        });
        write(kubectl, &current)?;
        self.wait_until_shown(stage, leader)?;
        write(kubectl, &json!({ "former.crt": null }))?;
        wait_for_trust(kubectl, &[own])
    }

    /// Waits until the Secret, which was deleted, is what it was.
    fn wait_until_it_is_back(&self, kubectl: &Kubectl) -> Result<()> {
        until("the Secret to be back as it was", || {
            let data = secret(kubectl)?["data"].clone();
            let is_it = data["ca.crt"] == self.certificate() && data["ca.key"] == self.key;
            ensure!(is_it && data["former.crt"].is_null(), "it holds something else");
            Ok(())
        })?;
        wait_for_trust(kubectl, &[self.authority.certificate()])
    }

    /// Waits until each replica shows a certificate that this one has signed, where the API server asks.
    fn wait_until_shown(&self, stage: &Stage, leader: &Member) -> Result<()> {
        let pods = leader.kubectl.json(&PODS)?;
        let pods = pods["items"].as_array().context("there are no replicas")?;
        let place = stage.lab.plan().namespace(Place::Cluster(leader.cluster))?;
        pods.iter().try_for_each(|pod| {
            let address = pod["status"]["podIP"].as_str().context("a Pod without address")?;
            until(&format!("{address} to show a certificate of the next authority"), || {
                let mut curl = in_namespace(&place, "curl");
                curl.args(["-gsS", "--noproxy", "*", "--max-time", "5", "-o", "/dev/null", "--cacert"]);
                curl.arg(&self.file).args(["--resolve", &format!("{SERVER}:{PORT}:{address}")]);
                curl.arg(format!("https://{SERVER}:{PORT}/")).run()
            })
        })
    }
}

fn secret(kubectl: &Kubectl) -> Result<Value> {
    kubectl.json(&["get", "secret", SECRET, "-n", NAMESPACE])
}

/// Changes the Secret, as a replica that takes a step.
fn write(kubectl: &Kubectl, data: &Value) -> Result<()> {
    let patch = json!({ "data": data }).to_string();
    kubectl.text(&["patch", "secret", SECRET, "-n", NAMESPACE, "--type=merge", "-p", &patch]).map(drop)
}

fn decoded(base64: &Value) -> Result<String> {
    let bytes = BASE64_STANDARD.decode(base64.as_str().context("there is no certificate")?)?;
    String::from_utf8(bytes).context("it is no PEM")
}

/// Waits until the API server is to trust these certificates, and no others, in all that asks the webhooks.
fn wait_for_trust(kubectl: &Kubectl, expected: &[&str]) -> Result<()> {
    until(&format!("{} certificate(s) to be trusted", expected.len()), || {
        for bundle in bundles(kubectl)? {
            let is_whole = expected.iter().all(|certificate| bundle.contains(certificate.trim()));
            let trusted = bundle.matches("BEGIN CERTIFICATE").count();
            ensure!(is_whole && trusted == expected.len(), "trusted are {trusted}:\n{bundle}");
        }
        Ok(())
    })
}

/// The certificates that the API server is to trust, for each webhook and for the conversion of ClusterSets.
fn bundles(kubectl: &Kubectl) -> Result<Vec<String>> {
    let kinds = "validatingwebhookconfigurations,mutatingwebhookconfigurations";
    let all = kubectl.json(&["get", kinds, "-l", "served-by=antrea-mc-controller"])?;
    let configurations = all["items"].as_array().into_iter().flatten();
    let webhooks = configurations.flat_map(|one| one["webhooks"].as_array().into_iter().flatten());
    let of_webhooks = webhooks.map(|webhook| decoded(&webhook["clientConfig"]["caBundle"]));
    let mut bundles = of_webhooks.collect::<Result<Vec<_>>>()?;
    let converted = kubectl.json(&["get", "crd/clustersets.multicluster.crd.antrea.io"])?;
    bundles.push(decoded(&converted["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"])?);
    ensure!(bundles.len() > 5, "there are few webhooks: {}", bundles.len());
    Ok(bundles)
}

//! Configurations of webhooks: each webhook in them names a Service of its own.

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use kube::api::Patch;
use serde_json::{Value, json};

use super::{Own, Repair, Trusting};

impl Trusting for MutatingWebhookConfiguration {
    const WHAT: &'static str = "Certificate in MutatingWebhookConfigurations";

    fn repair(&self, own: &Own) -> Repair {
        let webhooks = self.webhooks.iter().flatten();
        repair(webhooks.map(|webhook| (webhook.name.as_str(), &webhook.client_config)), own)
    }
}

impl Trusting for ValidatingWebhookConfiguration {
    const WHAT: &'static str = "Certificate in ValidatingWebhookConfigurations";

    fn repair(&self, own: &Own) -> Repair {
        let webhooks = self.webhooks.iter().flatten();
        repair(webhooks.map(|webhook| (webhook.name.as_str(), &webhook.client_config)), own)
    }
}

/// The API server finds webhooks in the patch by their names, and leaves the others as they are.
fn repair<'a>(webhooks: impl Iterator<Item = (&'a str, &'a WebhookClientConfig)>, own: &Own) -> Repair {
    let is_stale = |config: &WebhookClientConfig| {
        let service = config.service.as_ref();
        service.is_some_and(|service| own.is_at(Some(&service.name), Some(&service.namespace)))
            && !own.is_trusted_by(config.ca_bundle.as_ref())
    };
    let trusting = |name| json!({"name": name, "clientConfig": {"caBundle": own.ca}});
    let stale: Vec<Value> =
        webhooks.filter(|(_, config)| is_stale(config)).map(|(name, _)| trusting(name)).collect();
    (!stale.is_empty()).then(|| Patch::Strategic(json!({"webhooks": stale})))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is brought into both kinds of configurations, of which each webhook is `NAME NAMESPACE/SERVICE CA`.
    #[track_caller]
    fn check(webhooks: &[&str], stale: &[&str]) {
        let webhook = |text: &&str| {
            let [name, service, bundle] = text.split(' ').collect::<Vec<_>>()[..] else { panic!("{text:?}") };
            let (namespace, service) = service.split_once('/').unwrap();
            let service = json!({"namespace": namespace, "name": service});
            let client_config = json!({"service": service, "caBundle": bundle});
            json!({
                "name": name, "clientConfig": client_config,
                "sideEffects": "None", "admissionReviewVersions": ["v1"],
            })
        };
        let webhooks: Vec<_> = webhooks.iter().map(webhook).collect();
        let trusting = |name: &&str| json!({"name": name, "clientConfig": {"caBundle": "Q0E="}});
        let stale: Vec<_> = stale.iter().map(trusting).collect();
        let expected = if stale.is_empty() { Value::Null } else { json!({"webhooks": stale}) };
        let object = json!({"metadata": {"name": "crdvalidator.antrea.io"}, "webhooks": webhooks});
        super::super::check::<ValidatingWebhookConfiguration>(object.clone(), &expected);
        super::super::check::<MutatingWebhookConfiguration>(object, &expected);
    }

    #[test]
    fn each_webhook_of_the_controllers_service_gets_its_certificate() {
        check(&[], &[]);
        check(&["a kube-system/antrea ", "b kube-system/antrea T0xE"], &["a", "b"]);
        check(&["a kube-system/antrea Q0E=", "b kube-system/antrea T0xE"], &["b"]);
        check(&["a kube-system/antrea Q0E="], &[]);
    }

    #[test]
    fn webhooks_of_others_keep_theirs() {
        check(&["a other/antrea ", "b kube-system/other T0xE"], &[]);
        check(&["a other/antrea ", "b kube-system/antrea T0xE"], &["b"]);
    }

    #[test]
    fn a_webhook_at_a_url_is_nobodys_service() {
        let webhook = json!({
            "name": "a", "clientConfig": {"url": "https://elsewhere"},
            "sideEffects": "None", "admissionReviewVersions": ["v1"],
        });
        let object = json!({"metadata": {"name": "v"}, "webhooks": [webhook]});
        super::super::check::<ValidatingWebhookConfiguration>(object, &Value::Null);
    }
}

//! Whom API servers trust when they ask webhooks: which of their configurations ask this controller, and which of those
//! lack its certificate.

use antrea_kit::known::Known;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt;
use serde_json::{Value, json};

/// The Service of the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Service {
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Service {
    fn is(&self, namespace: &str, name: &str) -> bool {
        (self.namespace.as_str(), self.name.as_str()) == (namespace, name)
    }
}

/// A kind of object with a certificate to trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Validating,
    Mutating,
    Conversion,
}

/// What asks this controller in an object: the webhooks by name, and what they trust. A conversion has no name.
pub(super) type Trusted = Vec<(String, Vec<u8>)>;

/// One request: these webhooks of an object are to trust the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Action {
    pub(super) place: Place,
    pub(super) object: String,
    pub(super) webhooks: Vec<String>,
}

/// Objects of one kind by name.
pub(super) type Objects = Known<Trusted>;

fn of_client(name: &str, client: WebhookClientConfig, service: &Service) -> Option<(String, Vec<u8>)> {
    let asks = client.service.is_some_and(|asked| service.is(&asked.namespace, &asked.name));
    asks.then(|| (name.to_owned(), bytes(client.ca_bundle)))
}

fn bytes(bundle: Option<ByteString>) -> Vec<u8> {
    bundle.map(|bundle| bundle.0).unwrap_or_default()
}

/// Name and webhooks of a configuration.
pub(super) fn validating(object: ValidatingWebhookConfiguration, service: &Service) -> (String, Trusted) {
    let name = object.name_any();
    let webhooks = object.webhooks.unwrap_or_default().into_iter();
    (name, webhooks.filter_map(|webhook| of_client(&webhook.name, webhook.client_config, service)).collect())
}

/// The same.
pub(super) fn mutating(object: MutatingWebhookConfiguration, service: &Service) -> (String, Trusted) {
    let name = object.name_any();
    let webhooks = object.webhooks.unwrap_or_default().into_iter();
    (name, webhooks.filter_map(|webhook| of_client(&webhook.name, webhook.client_config, service)).collect())
}

/// Name and conversion of a kind.
pub(super) fn conversion(object: CustomResourceDefinition, service: &Service) -> (String, Trusted) {
    let name = object.name_any();
    let client = object.spec.conversion.and_then(|conversion| conversion.webhook?.client_config);
    let asking = client.filter(|client| {
        client.service.as_ref().is_some_and(|asked| service.is(&asked.namespace, &asked.name))
    });
    (name, asking.map(|client| (String::new(), bytes(client.ca_bundle))).into_iter().collect())
}

/// What is missing in the objects of a kind; nothing before they are known.
pub(super) fn missing(place: Place, objects: &Objects, ca: &[u8]) -> Option<Vec<Action>> {
    let action = |(object, trusted): (&String, &Trusted)| {
        let stale = trusted.iter().filter(|(_, bundle)| bundle != ca);
        let webhooks: Vec<String> = stale.map(|(name, _)| name.clone()).collect();
        (!webhooks.is_empty()).then(|| Action { place, object: object.clone(), webhooks })
    };
    Some(objects.all()?.iter().filter_map(action).collect())
}

/// The patch that an action sends: for webhooks a strategic one, which finds them by name; for a conversion a merge.
pub(super) fn patch(action: &Action, ca: &ByteString) -> Value {
    let client = json!({ "caBundle": ca });
    match action.place {
        Place::Validating | Place::Mutating => {
            let webhook = |name: &String| json!({ "name": name, "clientConfig": client });
            json!({ "webhooks": action.webhooks.iter().map(webhook).collect::<Vec<_>>() })
        }
        Place::Conversion => json!({ "spec": { "conversion": { "webhook": { "clientConfig": client } } } }),
    }
}

#[cfg(test)]
mod tests {
    use antrea_kit::watch::WatchEvent;

    use super::*;

    fn service() -> Service {
        Service { namespace: "kube-system".to_owned(), name: "antrea-mc-webhook-service".to_owned() }
    }

    /// What is asked for where these are all objects of a kind.
    fn check(place: Place, object: (String, Trusted)) -> Vec<String> {
        let mut objects = Objects::default();
        assert_eq!(missing(place, &objects, b"CA"), None);
        objects.learn(WatchEvent::Resynced(vec![object]));
        let actions = missing(place, &objects, b"CA").unwrap();
        let ca = ByteString(b"CA".to_vec());
        actions.iter().map(|action| format!("{} {}", action.object, patch(action, &ca))).collect()
    }

    const WEBHOOKS: &str = "
metadata: {name: antrea-mc}
webhooks:
- {name: one.kb.io, clientConfig: {service: {namespace: kube-system, name: antrea-mc-webhook-service}}}
- {name: two.kb.io, clientConfig: {service: {namespace: kube-system, name: antrea-mc-webhook-service}, caBundle: Q0E=}}
- {name: three.kb.io, clientConfig: {service: {namespace: kube-system, name: antrea-mc-webhook-service}, caBundle: b2xk}}
- {name: other.kb.io, clientConfig: {service: {namespace: other, name: antrea-mc-webhook-service}}}
- {name: url.kb.io, clientConfig: {url: 'https://example.org'}}
";

    #[test]
    fn webhooks_that_ask_this_controller_and_no_others_get_its_certificate() {
        let asked = r#"antrea-mc {"webhooks":[{"name":"one.kb.io","clientConfig":{"caBundle":"Q0E="}},{"name":"three.kb.io","clientConfig":{"caBundle":"Q0E="}}]}"#;
        let of_validating = validating(serde_saphyr::from_str(WEBHOOKS).unwrap(), &service());
        assert_eq!(check(Place::Validating, of_validating), [asked]);
        let of_mutating = mutating(serde_saphyr::from_str(WEBHOOKS).unwrap(), &service());
        assert_eq!(check(Place::Mutating, of_mutating), [asked]);
    }

    fn kind(conversion: &str) -> Vec<String> {
        let text = format!(
            "metadata: {{name: clustersets}}\nspec: {{group: g, names: {{kind: K, plural: k}}, scope: Namespaced, versions: [], conversion: {conversion}}}"
        );
        check(Place::Conversion, super::conversion(serde_saphyr::from_str(&text).unwrap(), &service()))
    }

    #[test]
    fn so_does_the_conversion_of_a_kind() {
        let ours = "service: {namespace: kube-system, name: antrea-mc-webhook-service}";
        assert_eq!(
            kind(&format!(
                "{{strategy: Webhook, webhook: {{clientConfig: {{{ours}}}, conversionReviewVersions: [v1]}}}}"
            )),
            [r#"clustersets {"spec":{"conversion":{"webhook":{"clientConfig":{"caBundle":"Q0E="}}}}}"#]
        );
        assert_eq!(
            kind(&format!(
                "{{strategy: Webhook, webhook: {{clientConfig: {{{ours}, caBundle: Q0E=}}, conversionReviewVersions: [v1]}}}}"
            )),
            Vec::<String>::new()
        );
        assert_eq!(kind("{strategy: None}"), Vec::<String>::new());
    }
}

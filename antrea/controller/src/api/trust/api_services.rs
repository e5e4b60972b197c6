//! APIServices: each names one Service.

use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::Patch;
use serde_json::json;

use super::{Own, Repair, Trusting};

impl Trusting for APIService {
    const WHAT: &'static str = "Certificate in APIServices";

    /// One that was told to trust anybody is not to any more: both at once are refused.
    fn repair(&self, own: &Own) -> Repair {
        let spec = self.spec.as_ref()?;
        let service = spec.service.as_ref()?;
        let is_own = own.is_at(service.name.as_deref(), service.namespace.as_deref());
        let is_stale = is_own && !own.is_trusted_by(spec.ca_bundle.as_ref());
        is_stale.then(|| Patch::Merge(json!({"spec": {"caBundle": own.ca, "insecureSkipTLSVerify": null}})))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// What is brought into an APIService of this Service, that has this certificate.
    #[track_caller]
    fn check(service: &Value, bundle: &Value, expected: &Value) {
        let spec = json!({
            "groupPriorityMinimum": 100, "versionPriority": 100, "service": service, "caBundle": bundle,
        });
        super::super::check::<APIService>(json!({"metadata": {"name": "v1.g"}, "spec": spec}), expected);
    }

    #[test]
    fn only_what_names_the_controllers_service_gets_its_certificate() {
        check(&Value::Null, &Value::Null, &Value::Null);
        check(&json!({"name": "antrea", "namespace": "other"}), &Value::Null, &Value::Null);
        check(&json!({"name": "other", "namespace": "kube-system"}), &Value::Null, &Value::Null);
        let own = json!({"name": "antrea", "namespace": "kube-system"});
        let repair = json!({"spec": {"caBundle": "Q0E=", "insecureSkipTLSVerify": null}});
        check(&own, &Value::Null, &repair);
        check(&own, &json!("T0xE"), &repair);
        check(&own, &json!("Q0E="), &Value::Null);
    }
}

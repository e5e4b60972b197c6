//! Gateway.

use super::cluster_info::{check_service_cidr, check_wire_guard};
use super::{FieldError, Problems, Validate, values};
use crate::multicluster::v1alpha1::{Exported, ExportedMode, Gateway};

impl Validate for Gateway {
    fn validate(&self) -> Vec<FieldError> {
        Problems::of(|problems| {
            problems.check("gatewayIP", values::reachable_ip(&self.gateway_ip));
            problems.check("internalIP", values::reachable_ip(&self.internal_ip));
            check_service_cidr(problems, &self.service_cidr);
            check_wire_guard(problems, self.wire_guard.as_ref());
            if let Some(exported) = &self.exported {
                problems.within("exported", |problems| check_exported(problems, exported));
            }
        })
    }
}

fn check_exported(problems: &mut Problems, exported: &Exported) {
    problems.check("mode", values::one_of(exported.mode.as_str(), ExportedMode::KNOWN));
    problems.check_each("addresses", &exported.addresses, values::reachable_cidr);
    problems.check_each("podCIDRs", &exported.pod_cidrs, values::reachable_cidr);
}

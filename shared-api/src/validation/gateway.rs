//! Gateway.

use super::cluster_info::{check_service_cidr, check_wire_guard};
use super::{FieldError, Problems, Validate, values};
use crate::multicluster::v1alpha1::Gateway;

impl Validate for Gateway {
    fn validate(&self) -> Vec<FieldError> {
        Problems::of(|problems| {
            problems.check("gatewayIP", values::reachable_ip(&self.gateway_ip));
            problems.check("internalIP", values::reachable_ip(&self.internal_ip));
            check_service_cidr(problems, &self.service_cidr);
            check_wire_guard(problems, self.wire_guard.as_ref());
        })
    }
}

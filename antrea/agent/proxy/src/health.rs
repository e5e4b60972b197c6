//! What load balancers are told of this Node's endpoints, as Kubernetes' own proxy tells it.

use crate::service_name::ServiceName;

/// Where a load balancer asks for a Service with `externalTrafficPolicy: Local`, and what it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// The `healthCheckNodePort`.
    pub port: u16,
    /// The Service.
    pub service: ServiceName,
    /// Its ready endpoints on this Node.
    pub local_endpoints: usize,
}

impl HealthCheck {
    /// The status of the answer.
    pub const fn status(&self) -> u16 {
        if self.local_endpoints > 0 { 200 } else { 503 }
    }

    /// The answer, in JSON. Namespaces and names need no escapes.
    pub fn body(&self) -> String {
        format!(
            "{{\n\t\"service\": {{\n\t\t\"namespace\": \"{}\",\n\t\t\"name\": \"{}\"\n\t}},\n\t\"localEndpoints\": {},\n\t\"serviceProxyHealthy\": true\n}}",
            self.service.namespace(),
            self.service.name(),
            self.local_endpoints
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_with_endpoints_gets_traffic_and_others_do_not() {
        let check = |local_endpoints| {
            let service = ServiceName::new("shop", "web");
            HealthCheck { port: 30999, service, local_endpoints }
        };
        assert_eq!((check(1).status(), check(0).status()), (200, 503));
        insta::assert_snapshot!(check(2).body(), @r#"
        {
        	"service": {
        		"namespace": "shop",
        		"name": "web"
        	},
        	"localEndpoints": 2,
        	"serviceProxyHealthy": true
        }
        "#);
    }
}

//! Which token the controller is shown: the one that the configuration says, whatever the controller answers. It may be
//! somebody else's by now, and the API server's token is good for more than policies.

/// Where Kubernetes puts the tokens of the Pod, and replaces them before they expire: the one of its ServiceAccount, which is
/// for the API server, and the one that is for the controller alone.
const FOR_API_SERVER: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";
const FOR_CONTROLLER: &str = "/var/run/secrets/antrea.io/controller/token";

/// The file of the token for this audience, or for the API server.
pub(super) const fn file(audience: Option<&str>) -> &'static str {
    match audience {
        Some(_) => FOR_CONTROLLER,
        None => FOR_API_SERVER,
    }
}

#[cfg(test)]
mod tests {
    use antrea_config::AgentConfig;

    use super::*;

    #[test]
    fn the_controller_is_shown_the_token_of_the_api_server_only_where_the_configuration_says_so() {
        let shown = |text: &str| {
            let config = AgentConfig::parse("antrea-agent.conf", text).unwrap();
            file(config.controller_token_audience.as_deref())
        };
        assert_eq!(shown(""), FOR_CONTROLLER);
        assert_eq!(shown("controllerTokenAudience: other"), FOR_CONTROLLER);
        assert_eq!(shown("controllerTokenAudience: ''"), FOR_API_SERVER);
    }
}

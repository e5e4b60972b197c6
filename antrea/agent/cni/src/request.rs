//! The parameters of a CNI command, taken apart and checked.

use antrea_cni::config::{NetworkConfig, is_identifier};
use antrea_cni::error::CniError;
use antrea_cni::proto::{CniCmdArgs, CniCmdRequest, ErrorCode};
use antrea_types::{InterfaceName, PodRef, PodUid};

use crate::ipam::Owner;

/// What ADD and CHECK are asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct AttachRequest {
    /// The container and its interface.
    pub target: Target,
    /// The Pod.
    pub pod: PodRef,
    /// Its UID, where the runtime says it.
    pub pod_uid: Option<PodUid>,
    /// CNI_NETNS: the network namespace as a path on the host.
    pub netns: String,
    /// The network configuration.
    pub config: NetworkConfig,
}

/// What DEL is asked for. The configuration is not looked at: whatever it says, the container has to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetachRequest {
    /// The container and its interface.
    pub target: Target,
    /// The Pod, where the runtime says it.
    pub pod: Option<PodRef>,
}

/// One interface of one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// CNI_CONTAINERID.
    pub container_id: String,
    /// CNI_IFNAME.
    pub interface: InterfaceName,
}

impl Target {
    /// What addresses are allocated to.
    pub fn owner(&self) -> Owner {
        Owner::new(&self.container_id, self.interface.as_str())
    }
}

impl AttachRequest {
    /// Reads a request of ADD or CHECK.
    ///
    /// # Errors
    /// INVALID_ENVIRONMENT_VARIABLES naming the variable, or what [`NetworkConfig::parse`] says.
    pub fn parse(request: CniCmdRequest) -> Result<Self, CniError> {
        let arguments = arguments(request)?;
        let target = target(&arguments)?;
        let config = NetworkConfig::parse(&arguments.network_configuration)?;
        let (pod, pod_uid) = pod(&arguments.args)?;
        let pod = pod.ok_or_else(|| {
            invalid("CNI_ARGS lacks K8S_POD_NAMESPACE or K8S_POD_NAME: only Kubernetes' Pods get interfaces")
        })?;
        if !arguments.netns.starts_with('/') {
            return Err(invalid(format!("CNI_NETNS {:?} is not an absolute path", arguments.netns)));
        }
        Ok(Self { target, pod, pod_uid, netns: arguments.netns, config })
    }
}

impl DetachRequest {
    /// Reads a request of DEL. Nothing was attached with CNI_ARGS that cannot be read, and DEL must succeed then.
    ///
    /// # Errors
    /// INVALID_ENVIRONMENT_VARIABLES naming the variable.
    pub fn parse(request: CniCmdRequest) -> Result<Self, CniError> {
        let arguments = arguments(request)?;
        let pod = pod(&arguments.args).map(|(pod, _)| pod).unwrap_or_default();
        Ok(Self { target: target(&arguments)?, pod })
    }
}

pub(crate) fn arguments(request: CniCmdRequest) -> Result<CniCmdArgs, CniError> {
    request.cni_args.ok_or_else(|| CniError::new(ErrorCode::DecodingFailure, "the request has no cni_args"))
}

/// Nothing else than what the specification allows gets into file contents and external_ids.
fn target(arguments: &CniCmdArgs) -> Result<Target, CniError> {
    let container_id = &arguments.container_id;
    if !is_identifier(container_id) {
        return Err(invalid(format!(
            "CNI_CONTAINERID {container_id:?} is invalid: a letter or digit, then letters, digits, '_', '.' and '-'"
        )));
    }
    let interface = arguments.ifname.parse().map_err(|error| invalid(format!("CNI_IFNAME: {error}")))?;
    Ok(Target { container_id: container_id.clone(), interface })
}

/// Reads `KEY=VALUE;KEY=VALUE`. Keys that do not say which Pod it is are other plugins'. A UID in no known form is none.
fn pod(args: &str) -> Result<(Option<PodRef>, Option<PodUid>), CniError> {
    let (mut namespace, mut name, mut uid) = (None, None, None);
    for pair in args.split(';').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("K8S_POD_NAMESPACE", value)) if !value.is_empty() => namespace = Some(value.to_owned()),
            Some(("K8S_POD_NAME", value)) if !value.is_empty() => name = Some(value.to_owned()),
            Some(("K8S_POD_UID", value)) => uid = value.parse().ok(),
            Some(_) => {}
            None => return Err(invalid(format!("CNI_ARGS has {pair:?}, which is not KEY=VALUE"))),
        }
    }
    Ok((namespace.zip(name).map(|(namespace, name)| PodRef { namespace, name }), uid))
}

fn invalid(message: impl Into<String>) -> CniError {
    CniError::new(ErrorCode::InvalidEnvironmentVariables, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = r#"{"cniVersion":"1.0.0","name":"n","type":"antrea","ipam":{"type":"host-local"}}"#;

    fn request(container_id: &str, ifname: &str, netns: &str, args: &str, config: &str) -> CniCmdRequest {
        let arguments = CniCmdArgs {
            container_id: container_id.into(),
            netns: netns.into(),
            ifname: ifname.into(),
            args: args.into(),
            path: String::new(),
            network_configuration: config.into(),
        };
        CniCmdRequest { cni_args: Some(arguments) }
    }

    #[test]
    fn what_containerd_sends_is_understood() {
        let args = "K8S_POD_UID=u;IgnoreUnknown=1;K8S_POD_NAMESPACE=team-x;K8S_POD_NAME=a;K8S_POD_INFRA_CONTAINER_ID=c";
        let parsed = AttachRequest::parse(request("c", "eth0", "/var/run/netns/n", args, CONFIG)).unwrap();
        assert_eq!(parsed.pod.to_string(), "team-x/a");
        assert_eq!(parsed.pod_uid.unwrap().as_str(), "u");
        assert_eq!(parsed.target.owner().to_string(), "c eth0");
    }

    #[test]
    fn bad_parameters_are_named() {
        let args = "K8S_POD_NAMESPACE=n;K8S_POD_NAME=p";
        for (request, expected) in [
            (request("a\nb", "eth0", "/n", args, CONFIG), "CNI_CONTAINERID \"a\\nb\" is invalid"),
            (request("", "eth0", "/n", args, CONFIG), "CNI_CONTAINERID \"\" is invalid"),
            (request("c", "a/b", "/n", args, CONFIG), "CNI_IFNAME: \"a/b\" is not a valid interface name"),
            (request("c", "eth0", "n", args, CONFIG), "CNI_NETNS \"n\" is not an absolute path"),
            (request("c", "eth0", "/n", "", CONFIG), "CNI_ARGS lacks K8S_POD_NAMESPACE or K8S_POD_NAME"),
            (request("c", "eth0", "/n", "x", CONFIG), "CNI_ARGS has \"x\", which is not KEY=VALUE"),
        ] {
            let error = AttachRequest::parse(request).unwrap_err();
            assert_eq!(error.code, ErrorCode::InvalidEnvironmentVariables);
            assert!(error.message.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn a_container_goes_whatever_its_configuration_and_arguments_say() {
        for args in ["", "x"] {
            let parsed = DetachRequest::parse(request("c", "eth0", "", args, "no JSON at all")).unwrap();
            assert_eq!((parsed.target.container_id.as_str(), parsed.pod), ("c", None));
        }
    }
}

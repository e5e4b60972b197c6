//! Requests of the CNI plugin, and network configurations of users.

use antrea_agent_cni::gc::GcRequest;
use antrea_agent_cni::prev_result::PrevResult;
use antrea_agent_cni::request::{AttachRequest, DetachRequest};
use antrea_cni::conflist;
use antrea_cni::proto::{CniCmdArgs, CniCmdRequest};
use antrea_cni::version::version_result;
use prost::Message;

/// Any bytes as a request, and as the network configuration of one.
pub(crate) fn read(bytes: &[u8]) {
    if let Ok(request) = CniCmdRequest::decode(bytes) {
        read_request(&request);
    }
    read_request(&with_configuration(bytes));
    let _ = version_result(bytes);
    let _ = conflist::validate(&String::from_utf8_lossy(bytes)).map_err(|error| error.to_string());
}

/// Reads it as every command. What can be attached can be detached.
fn read_request(request: &CniCmdRequest) {
    let detached = DetachRequest::parse(request.clone()).map(|detach| detach.target).ok();
    if let Ok(attach) = AttachRequest::parse(request.clone()) {
        assert_eq!(Some(attach.target), detached);
        // CHECK goes on with that.
        let _ = PrevResult::parse(attach.config.prev_result);
    }
    let _ = GcRequest::parse(request.clone());
}

fn with_configuration(configuration: &[u8]) -> CniCmdRequest {
    let arguments = CniCmdArgs {
        container_id: "c1".to_owned(),
        netns: "/var/run/netns/a".to_owned(),
        ifname: "eth0".to_owned(),
        args: "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-0".to_owned(),
        path: String::new(),
        network_configuration: configuration.to_vec(),
    };
    CniCmdRequest { cni_args: Some(arguments) }
}

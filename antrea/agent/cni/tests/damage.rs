//! Whatever a runtime hands over is read, or refused, and does no harm.

use antrea_agent_cni::gc::GcRequest;
use antrea_agent_cni::prev_result::PrevResult;
use antrea_agent_cni::request::{AttachRequest, DetachRequest};
use antrea_cni::conflist;
use antrea_cni::proto::{CniCmdArgs, CniCmdRequest};
use antrea_cni::version::version_result;
use antrea_damage::Damage;

const CONFIGURATIONS: [&str; 4] = [
    r#"{"cniVersion":"0.3.0","name":"antrea","type":"antrea","ipam":{"type":"host-local"}}"#,
    r#"{"cniVersion":"1.1.0","name":"antrea","type":"antrea","deviceID":"","mtu":1450,"dns":{"nameservers":["10.96.0.10"]},"ipam":{"type":"host-local"},"cni.dev/valid-attachments":[{"containerID":"c1","ifname":"eth0"}]}"#,
    r#"{"cniVersion":"1.0.0","name":"antrea","type":"antrea","ipam":{"type":"host-local"},"prevResult":{"cniVersion":"1.0.0","interfaces":[{"name":"web-1a2b3c","mac":"0a:00:00:00:00:01"},{"name":"eth0","mac":"0a:00:00:00:00:02","sandbox":"/var/run/netns/a"}],"ips":[{"interface":1,"address":"10.10.0.2/24","gateway":"10.10.0.1"},{"interface":1,"address":"fd00:10::2/64"}]}}"#,
    r#"{"cniVersion":"0.3.0","name":"antrea","plugins":[{"type":"antrea","ipam":{"type":"host-local"}},{"type":"portmap","capabilities":{"portMappings":true}}]}"#,
];

const WORDS: [&str; 14] = [
    "null",
    "{}",
    "[]",
    "-1",
    "1e999",
    "99999999999999999999",
    "\"mtu\":0,",
    "\"cniVersion\":\"1.1.0\",",
    "10.10.0.0/33",
    "::/0",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    "\\ud800",
    "\u{fffd}",
    "\"",
];

const ARGUMENTS: [&str; 3] = ["c1", "eth0", "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-0"];

/// A request about a container, each of whose arguments may be anything.
fn request(configuration: &[u8], [container_id, ifname, args]: [&str; 3]) -> CniCmdRequest {
    let arguments = CniCmdArgs {
        container_id: container_id.to_owned(),
        netns: "/var/run/netns/a".to_owned(),
        ifname: ifname.to_owned(),
        args: args.to_owned(),
        path: String::new(),
        network_configuration: configuration.to_vec(),
    };
    CniCmdRequest { cni_args: Some(arguments) }
}

fn read_as_every_command(configuration: &[u8], arguments: [&str; 3]) {
    if let Ok(attach) = AttachRequest::parse(request(configuration, arguments)) {
        // CHECK goes on with that.
        let _ = PrevResult::parse(attach.config.prev_result);
    }
    let _ = DetachRequest::parse(request(configuration, arguments));
    let _ = GcRequest::parse(request(configuration, arguments));
}

fn samples(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

#[test]
fn damaged_configurations_are_read_without_harm() {
    let samples = samples(&CONFIGURATIONS);
    Damage { samples: &samples, words: &WORDS, cases: 20_000 }.each(|input| {
        read_as_every_command(input, ARGUMENTS);
        let _ = version_result(input);
        let _ = conflist::validate(&String::from_utf8_lossy(input));
    });
}

#[test]
fn damaged_arguments_are_read_without_harm() {
    let samples = samples(&ARGUMENTS);
    Damage { samples: &samples, words: &["=", ";", "/", "..", "\0"], cases: 20_000 }.each(|input| {
        let text = String::from_utf8_lossy(input);
        read_as_every_command(CONFIGURATIONS[0].as_bytes(), [&text, &text, &text]);
    });
}

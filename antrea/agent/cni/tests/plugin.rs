//! The plugin's binary against the real server.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::node::{Node, config, on_node, skipped};
use crate::pod::Pod;

/// The binary, which is built beside this test when the whole workspace is.
pub(crate) fn binary() -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    let binary = test.parent()?.parent()?.join("antrea-cni");
    binary.exists().then_some(binary)
}

fn run(binary: &PathBuf, command: &str, node: &Node, pod: &Pod, input: &str) -> (i32, String) {
    let mut child = Command::new(binary)
        .env("ANTREA_CNI_SOCKET", node.socket())
        .env("CNI_COMMAND", command)
        .env("CNI_CONTAINERID", &pod.container_id)
        .env("CNI_NETNS", pod.netns())
        .env("CNI_IFNAME", "eth0")
        .env("CNI_PATH", "/opt/cni/bin")
        .env("CNI_ARGS", pod.args())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_plugin_adds_checks_and_deletes_in_every_version() {
    let Some(binary) = binary() else {
        return skipped("antrea-cni is not built: cargo build -p antrea-cni");
    };
    on_node(&["10.10.0.0/24", "fd00:10:10::/64"], async move |node| {
        let agent = node.agent().await;
        for version in ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"] {
            let pod = Pod::new("web", "c1");
            let (code, output) = run(&binary, "ADD", &node, &pod, &config(version, ""));
            assert_eq!(code, 0, "{output}");
            let result: Value = serde_json::from_str(&output).unwrap();
            assert_eq!(result["cniVersion"], version);
            if version >= "0.4.0" {
                let with_result = config(version, &format!(r#","prevResult":{result}"#));
                assert_eq!(run(&binary, "CHECK", &node, &pod, &with_result), (0, String::new()));
            }
            if version >= "1.1.0" {
                assert_eq!(run(&binary, "STATUS", &node, &pod, &config(version, "")), (0, String::new()));
                let valid = r#","cni.dev/valid-attachments":[{"containerID":"c1","ifname":"eth0"}]"#;
                let state = node.state(&agent);
                assert_eq!(run(&binary, "GC", &node, &pod, &config(version, valid)), (0, String::new()));
                assert_eq!(node.state(&agent), state);
            }
            assert_eq!(run(&binary, "DEL", &node, &pod, &config(version, "")), (0, String::new()));
            agent.server.settled().await;
            assert_eq!(node.state(&agent), Vec::<String>::new());
        }
    });
}

#[test]
fn a_configuration_that_is_refused_comes_back_as_an_error_object() {
    let Some(binary) = binary() else {
        return skipped("antrea-cni is not built: cargo build -p antrea-cni");
    };
    on_node(&["10.10.0.0/24"], async move |node| {
        let _agent = node.agent().await;
        let pod = Pod::new("web", "c1");
        let input = r#"{"cniVersion":"0.4.0","name":"n","type":"antrea","ipam":{"type":"host-local","rangeStart":"x"}}"#;
        let expected = r#"{"cniVersion":"0.4.0","code":2,"msg":"unsupported network configuration: ipam.rangeStart \"x\" is not supported: addresses come from the Pod CIDRs of the Node; only ipam.type is allowed"}"#;
        assert_eq!(run(&binary, "ADD", &node, &pod, input), (1, expected.to_owned()));
        let (code, output) = run(&binary, "ADD", &node, &pod, "{");
        assert!(output.contains(r#""code":6"#) && code == 1, "{output}");
    });
}

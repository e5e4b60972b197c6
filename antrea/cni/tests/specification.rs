//! Sections 2 and 5 of the CNI specification 1.1.0, line by line, as far as the plugin itself decides: what it is started
//! with, which exit code and object come back.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tonic::Status;

use crate::agent::{Answer, FakeAgent};

const ATTACHMENT: [&str; 4] =
    ["CNI_CONTAINERID=c1", "CNI_NETNS=/var/run/netns/n1", "CNI_IFNAME=eth0", "CNI_PATH=/opt/cni/bin"];

/// Runs the plugin; returns the exit code and the object on standard output, null when there is none.
fn run(socket: &Path, command: &str, variables: &[&str], input: &str) -> (i32, Value) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_antrea-cni"))
        .env_clear()
        .env("ANTREA_CNI_SOCKET", socket)
        .env("CNI_COMMAND", command)
        .envs(variables.iter().filter_map(|variable| variable.split_once('=')))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // A plugin that refuses its environment need not read.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let object =
        if output.stdout.is_empty() { Value::Null } else { serde_json::from_slice(&output.stdout).unwrap() };
    (output.status.code().unwrap(), object)
}

fn config(version: &str) -> String {
    json!({"cniVersion": version, "name": "antrea", "type": "antrea", "ipam": {"type": "host-local"}})
        .to_string()
}

/// The error object has the version of the request, a code and a message, and the exit code is not zero.
fn check_error(outcome: (i32, Value), version: &str, code: i32, message: &str) {
    let (exit, object) = outcome;
    assert_eq!(
        (exit, object["cniVersion"].as_str(), object["code"].as_i64()),
        (1, Some(version), Some(code.into()))
    );
    let text = object["msg"].as_str().unwrap();
    assert!(text.contains(message), "{text}");
}

#[test]
fn required_variables_that_are_missing_or_unknown_are_error_4() {
    let nowhere = Path::new("/nonexistent");
    for (command, variables, named) in [
        ("", &ATTACHMENT[..], "CNI_COMMAND is not set"),
        ("UPDATE", &ATTACHMENT, "CNI_COMMAND \"UPDATE\" is unknown"),
        ("version", &ATTACHMENT, "CNI_COMMAND \"version\" is unknown"),
        ("ADD", &ATTACHMENT[1..], "CNI_CONTAINERID must be set"),
        ("ADD", &[ATTACHMENT[0], ATTACHMENT[2]], "CNI_NETNS must be set"),
        ("ADD", &ATTACHMENT[..2], "CNI_IFNAME must be set"),
        ("CHECK", &ATTACHMENT[3..], "CNI_CONTAINERID, CNI_NETNS, CNI_IFNAME must be set"),
        ("DEL", &ATTACHMENT[1..], "CNI_CONTAINERID must be set"),
        ("DEL", &ATTACHMENT[..2], "CNI_IFNAME must be set"),
        ("GC", &[], "CNI_PATH must be set"),
    ] {
        check_error(run(nowhere, command, variables, &config("1.1.0")), "1.1.0", 4, named);
    }
}

#[test]
fn optional_variables_may_be_missing() {
    let agent = FakeAgent::start(Answer::Done);
    for (command, variables) in [
        ("ADD", &ATTACHMENT[..3]),
        ("CHECK", &ATTACHMENT[..3]),
        ("DEL", &[ATTACHMENT[0], ATTACHMENT[2]]),
        ("STATUS", &[]),
        ("GC", &ATTACHMENT[3..]),
    ] {
        assert_eq!(run(&agent.socket(), command, variables, &config("1.1.0")), (0, Value::Null), "{command}");
    }
}

#[test]
fn status_and_gc_are_refused_before_1_1_0() {
    let agent = FakeAgent::start(Answer::Done);
    for version in ["0.3.0", "0.3.1", "0.4.0", "1.0.0"] {
        for command in ["STATUS", "GC"] {
            let outcome = run(&agent.socket(), command, &ATTACHMENT, &config(version));
            check_error(outcome, version, 1, &format!("{command} needs cniVersion 1.1.0"));
        }
    }
}

#[test]
fn configurations_that_cannot_be_used_have_the_code_of_the_specification() {
    let agent = FakeAgent::start(Answer::Done);
    let with = |key: &str, value: Value| {
        let mut config: Value = serde_json::from_str(&config("1.1.0")).unwrap();
        config[key] = value;
        config.to_string()
    };
    for (input, code, message) in [
        (with("cniVersion", json!("0.2.0")), 1, "cniVersion \"0.2.0\" is not supported"),
        (with("cniVersion", json!("2.0.0")), 1, "supported versions are 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0"),
        (with("deviceID", json!("0000:1")), 2, "deviceID \"0000:1\" is not supported"),
        (
            with("ipam", json!({"type": "host-local", "subnet": "10.0.0.0/8"})),
            2,
            "ipam.subnet \"10.0.0.0/8\"",
        ),
        (with("ipam", json!({"type": "dhcp"})), 2, "ipam.type \"dhcp\""),
        (with("type", json!("bridge")), 2, "type \"bridge\""),
        ("{".to_owned(), 6, "cannot read the network configuration"),
        (String::new(), 6, "cannot read the network configuration"),
        (with("cniVersion", json!(1.0)), 6, "cniVersion 1.0 is not text"),
        (with("mtu", json!("large")), 6, "expected u32"),
        (with("name", json!("")), 7, "name is missing"),
        (with("name", json!("a/b")), 7, "name \"a/b\" is invalid"),
        (with("mtu", json!(1)), 7, "mtu is out of range"),
    ] {
        for command in ["STATUS", "GC"] {
            check_error(run(&agent.socket(), command, &ATTACHMENT, &input), "1.1.0", code, message);
        }
    }
}

#[test]
fn an_agent_that_is_away_is_error_50_for_status_and_11_for_all_else() {
    let nowhere = Path::new("/nonexistent/cni.sock");
    let away = FakeAgent::start(Answer::Refuse(Status::unavailable("going away")));
    for socket in [nowhere, &away.socket()] {
        for (command, code) in [("STATUS", 50), ("ADD", 11), ("CHECK", 11), ("DEL", 11), ("GC", 11)] {
            check_error(run(socket, command, &ATTACHMENT, &config("1.1.0")), "1.1.0", code, "antrea-agent");
        }
    }
}

#[test]
fn an_agent_without_status_and_gc_is_available_and_collects_by_itself() {
    let agent = FakeAgent::start(Answer::Refuse(Status::unimplemented("unknown method")));
    for command in ["STATUS", "GC"] {
        assert_eq!(run(&agent.socket(), command, &ATTACHMENT, &config("1.1.0")), (0, Value::Null));
    }
    let outcome = run(&agent.socket(), "ADD", &ATTACHMENT, &config("1.1.0"));
    check_error(outcome, "1.1.0", 202, "antrea-agent does not know this command");
}

#[test]
fn version_repeats_what_it_is_given_and_lists_all_versions() {
    let supported = json!(["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"]);
    for (input, version) in
        [(r#"{"cniVersion":"0.3.1"}"#, "0.3.1"), (r#"{"cniVersion":"1.2.0"}"#, "1.2.0"), ("", "1.1.0")]
    {
        let expected = json!({"cniVersion": version, "supportedVersions": supported});
        assert_eq!(run(Path::new("/nonexistent"), "VERSION", &[], input), (0, expected));
    }
}

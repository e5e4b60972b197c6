//! CNI commands: what goes to the agent, what is printed, with which exit code.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use antrea_cni::error::CniError;
use antrea_cni::proto::ErrorCode;
use tonic::Status;

use crate::agent::{Answer, FakeAgent};

const CONFIG: &str = r#"{"cniVersion":"1.0.0"}"#;

/// Runs the plugin as a container runtime does; returns the exit code and what it printed.
fn run(command: &str, socket: &Path, input: &str) -> (i32, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_antrea-cni"))
        .env_clear()
        .env("ANTREA_CNI_SOCKET", socket)
        .env("CNI_COMMAND", command)
        .env("CNI_CONTAINERID", "c1")
        .env("CNI_NETNS", "/var/run/netns/n1")
        .env("CNI_IFNAME", "eth0")
        .env("CNI_ARGS", "K8S_POD_NAME=p")
        .env("CNI_PATH", "/opt/cni/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn commands_go_to_the_agent_with_all_their_parameters() {
    let agent = FakeAgent::start(Answer::Echo);
    for command in ["ADD", "CHECK", "DEL"] {
        let expected = format!("{command} c1 /var/run/netns/n1 eth0 K8S_POD_NAME=p /opt/cni/bin {CONFIG}");
        assert_eq!(run(command, &agent.socket(), CONFIG), (0, expected));
    }
}

#[test]
fn an_error_of_the_agent_is_printed_in_the_version_of_the_request() {
    let error = CniError::new(ErrorCode::IpamFailure, "no address is left");
    let agent = FakeAgent::start(Answer::Fail(error));
    for version in ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"] {
        let config = format!(r#"{{"cniVersion":"{version}"}}"#);
        let expected = format!(r#"{{"cniVersion":"{version}","code":101,"msg":"no address is left"}}"#);
        assert_eq!(run("ADD", &agent.socket(), &config), (1, expected));
    }
}

#[test]
fn a_refused_call_says_whether_to_try_again() {
    let agent = FakeAgent::start(Answer::Refuse(Status::unavailable("going away")));
    let expected = r#"{"cniVersion":"1.0.0","code":11,"msg":"antrea-agent did not answer: going away"}"#;
    assert_eq!(run("DEL", &agent.socket(), CONFIG), (1, expected.to_owned()));
}

#[test]
fn an_agent_that_is_not_there_yet_is_worth_another_try() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("cni.sock");
    let (code, output) = run("ADD", &socket, CONFIG);
    let problem = format!("cannot reach antrea-agent on {}: ", socket.display());
    assert!(output.contains(&problem) && output.contains(r#""code":11"#) && code == 1, "{code} {output}");
    assert!(output.contains("No such file or directory"), "{output}");
}

#[test]
fn an_agent_that_is_killed_in_the_middle_of_a_command_is_worth_another_try() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("cni.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let agent = thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let (mut read, mut chunk) = (Vec::new(), [0; 4096]);
        while !read.windows(14).any(|bytes| bytes == b"K8S_POD_NAME=p") {
            let length = connection.read(&mut chunk).unwrap();
            assert!(length > 0, "the plugin asked for nothing");
            read.extend_from_slice(&chunk[..length]);
        }
    });
    let (code, output) = run("ADD", &socket, CONFIG);
    agent.join().unwrap();
    let expected = r#"{"cniVersion":"1.0.0","code":11,"msg":"antrea-agent did not answer: "#;
    assert!(output.starts_with(expected) && code == 1, "{code} {output}");
}

#[test]
fn the_version_is_told_without_an_agent() {
    let (code, output) = run("VERSION", Path::new("/nonexistent"), r#"{"cniVersion":"0.4.0"}"#);
    let supported = r#"["0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"]"#;
    let expected = format!(r#"{{"cniVersion":"0.4.0","supportedVersions":{supported}}}"#);
    assert_eq!((code, output), (0, expected));
}

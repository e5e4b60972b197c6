//! What antrea-agent says to a bad configuration, before it does anything.

use std::path::Path;
use std::process::Command;

/// Runs the agent with this file; gives its exit code and what it said.
fn run(file: &Path) -> (Option<i32>, String) {
    let mut agent = Command::new(env!("CARGO_BIN_EXE_antrea-agent"));
    let output = agent.arg("--config").arg(file).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_bad_configuration_file_ends_it_with_line_and_key_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("antrea-agent.conf");
    std::fs::write(&file, "ovsBridge: br-int\ntunnelType: stt\n").unwrap();
    let (code, said) = run(&file);
    assert_eq!(code, Some(64));
    assert_eq!(
        said,
        format!(
            "{}:2:13: tunnelType \"stt\": Open vSwitch dropped STT; allowed are geneve, vxlan, gre\n",
            file.display()
        )
    );
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let (code, said) = run(Path::new("/nonexistent/antrea-agent.conf"));
    assert_eq!(code, Some(64));
    assert!(
        said.starts_with("cannot read the configuration file /nonexistent/antrea-agent.conf: No such file"),
        "{said}"
    );
}

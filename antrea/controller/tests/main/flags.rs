//! What antrea-controller says to bad flags and files, before it does anything.

use std::process::Command;

/// Runs the program with these flags; gives its exit code and what it said.
fn run(flags: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_antrea-controller")).args(flags).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_bad_configuration_file_ends_it_with_line_and_key() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("antrea-controller.conf");
    std::fs::write(&file, "apiPort: 10349\nselfSignedCert: false\n").unwrap();
    let (code, said) = run(&["--config", file.to_str().unwrap()]);
    assert_eq!(code, Some(64));
    assert_eq!(
        said,
        format!(
            "{}:2:17: selfSignedCert false: certificates of one's own are not available yet; \
             leave the key out, or set it to true\n",
            file.display()
        )
    );
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let (code, said) = run(&["--config", "/nonexistent/antrea-controller.conf"]);
    assert_eq!(code, Some(64));
    assert_eq!(
        said,
        "cannot read /nonexistent/antrea-controller.conf: No such file or directory (os error 2)\n"
    );
}

#[test]
fn an_unknown_flag_is_refused() {
    let (code, said) = run(&["--confg", "x"]);
    assert_eq!(code, Some(64));
    assert!(said.starts_with("error: unexpected argument '--confg' found"), "{said}");
}

//! Files that something has gone wrong with are read, or refused, and do no harm.

use antrea_config::{AgentConfig, ControllerConfig};
use antrea_damage::Damage;

const AGENT: &str = "ovsBridge: br-int\ntunnelType: geneve # or not\nserviceCIDR: 10.96.0.0/12\napiPort: 10350\n\
    featureGates:\n  AntreaProxy: true\nclientConnection: {kubeconfig: \"/a\"}\ntransportInterfaceCIDRs: [10.0.0.0/8]\n\
    tlsMinVersion: 'VersionTLS12'\ndefaultMTU: 0x5dc\n";

const WORDS: [&str; 16] = [
    "null",
    "~",
    "{",
    "]",
    "- ",
    ": ",
    "\"",
    "'",
    "&a ",
    "*a",
    "!!int ",
    "---\n",
    "1e999",
    "99999999999999999999",
    "\t",
    "|\n",
];

#[test]
fn damaged_files_are_read_without_harm() {
    Damage { samples: &[AGENT.as_bytes().to_vec()], words: &WORDS, cases: 2_000 }.each(|input| {
        let text = String::from_utf8_lossy(input);
        let _ = AgentConfig::parse("agent.conf", &text).map_err(|error| error.to_string());
        let _ = ControllerConfig::parse("controller.conf", &text).map_err(|error| error.to_string());
    });
}

#[test]
fn a_value_that_is_nested_too_deeply_is_refused() {
    for (open, close) in [("[", "]"), ("{a: ", "}"), ("- ", "")] {
        let text = format!("clientConnection: {}{}\n", open.repeat(100_000), close.repeat(100_000));
        assert!(AgentConfig::parse("agent.conf", &text).is_err());
    }
}

//! The parameters in the environment: CNI specification, section 2 "Execution Protocol", "Parameters".

use std::collections::BTreeMap;

use antrea_cni::DEFAULT_SOCKET;
use antrea_cni::error::CniError;
use antrea_cni::proto::{CniCmdArgs, ErrorCode};

/// The variables that concern the plugin.
const VARIABLES: [&str; 7] = [
    "CNI_COMMAND",
    "CNI_CONTAINERID",
    "CNI_NETNS",
    "CNI_IFNAME",
    "CNI_ARGS",
    "CNI_PATH",
    "ANTREA_CNI_SOCKET",
];

/// The variables that are set and not empty.
pub(crate) struct Environment(BTreeMap<&'static str, String>);

/// What the runtime asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Add,
    Check,
    Del,
    Gc,
    Status,
    Version,
}

impl Environment {
    pub(crate) fn of_process() -> Self {
        Self::of(|name| std::env::var(name).ok())
    }

    fn of(read: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name| read(name).filter(|value| !value.is_empty()).map(|value| (name, value));
        Self(VARIABLES.into_iter().filter_map(value).collect())
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Where the agent listens.
    pub(crate) fn socket(&self) -> &str {
        self.get("ANTREA_CNI_SOCKET").unwrap_or(DEFAULT_SOCKET)
    }

    pub(crate) fn command(&self) -> Result<Command, CniError> {
        match self.get("CNI_COMMAND") {
            Some("ADD") => Ok(Command::Add),
            Some("CHECK") => Ok(Command::Check),
            Some("DEL") => Ok(Command::Del),
            Some("GC") => Ok(Command::Gc),
            Some("STATUS") => Ok(Command::Status),
            Some("VERSION") => Ok(Command::Version),
            Some(other) => Err(invalid(format!("CNI_COMMAND {other:?} is unknown"))),
            None => Err(invalid(
                "CNI_COMMAND is not set: this is a CNI plugin, run by container runtimes".to_owned(),
            )),
        }
    }

    /// The parameters of a command; all variables that are missing are named at once. CNI specification, section 2, lists
    /// for each operation which ones are required.
    pub(crate) fn arguments(&self, command: Command, input: &[u8]) -> Result<CniCmdArgs, CniError> {
        let required: &[&str] = match command {
            Command::Add | Command::Check => &["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"],
            Command::Del => &["CNI_CONTAINERID", "CNI_IFNAME"],
            Command::Gc => &["CNI_PATH"],
            Command::Status | Command::Version => &[],
        };
        let missing: Vec<&str> = required.iter().copied().filter(|name| self.get(name).is_none()).collect();
        if !missing.is_empty() {
            return Err(invalid(format!("{} must be set", missing.join(", "))));
        }
        let text = |name| self.get(name).unwrap_or_default().to_owned();
        Ok(CniCmdArgs {
            container_id: text("CNI_CONTAINERID"),
            netns: text("CNI_NETNS"),
            ifname: text("CNI_IFNAME"),
            args: text("CNI_ARGS"),
            path: text("CNI_PATH"),
            network_configuration: input.to_vec(),
        })
    }
}

fn invalid(message: String) -> CniError {
    CniError::new(ErrorCode::InvalidEnvironmentVariables, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An environment written `NAME=VALUE NAME=VALUE`.
    fn environment(text: &str) -> Environment {
        let variables: BTreeMap<_, _> =
            text.split_whitespace().filter_map(|pair| pair.split_once('=')).collect();
        Environment::of(|name| variables.get(name).map(|value| (*value).to_owned()))
    }

    #[test]
    fn missing_variables_are_all_named() {
        for (command, variables, expected) in [
            (Command::Add, "", "CNI_CONTAINERID, CNI_NETNS, CNI_IFNAME must be set"),
            (Command::Add, "CNI_CONTAINERID=a CNI_NETNS= CNI_IFNAME=eth0", "CNI_NETNS must be set"),
            (Command::Check, "CNI_CONTAINERID=a CNI_NETNS=/n", "CNI_IFNAME must be set"),
            (Command::Del, "CNI_IFNAME=eth0", "CNI_CONTAINERID must be set"),
            (Command::Gc, "", "CNI_PATH must be set"),
        ] {
            let error = environment(variables).arguments(command, b"{}").unwrap_err();
            assert_eq!(
                (error.code, error.message.as_str()),
                (ErrorCode::InvalidEnvironmentVariables, expected)
            );
        }
    }

    #[test]
    fn a_deleted_namespace_need_not_be_named() {
        let arguments =
            environment("CNI_CONTAINERID=a CNI_IFNAME=eth0").arguments(Command::Del, b"{}").unwrap();
        assert_eq!((arguments.container_id.as_str(), arguments.netns.as_str()), ("a", ""));
    }

    #[test]
    fn status_needs_no_variable_but_the_command() {
        assert!(environment("").arguments(Command::Status, b"{}").is_ok());
    }

    #[test]
    fn unknown_commands_are_refused_by_name() {
        for (variables, expected) in [
            ("CNI_COMMAND=ADDD", "CNI_COMMAND \"ADDD\" is unknown"),
            ("CNI_COMMAND=add", "CNI_COMMAND \"add\" is unknown"),
            ("", "CNI_COMMAND is not set: this is a CNI plugin, run by container runtimes"),
        ] {
            let error = environment(variables).command().unwrap_err();
            assert_eq!(
                (error.code, error.message.as_str()),
                (ErrorCode::InvalidEnvironmentVariables, expected)
            );
        }
    }

    #[test]
    fn the_socket_is_the_default_one_unless_told() {
        assert_eq!(environment("").socket(), DEFAULT_SOCKET);
        assert_eq!(environment("ANTREA_CNI_SOCKET=/tmp/s").socket(), "/tmp/s");
    }
}

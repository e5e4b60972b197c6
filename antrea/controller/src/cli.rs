//! The flags of antrea-controller.

use std::path::PathBuf;

use clap::Parser;

/// The controller of Antrea: one for each cluster.
#[derive(Debug, Parser)]
#[command(name = "antrea-controller", version)]
pub(crate) struct Arguments {
    /// The configuration file, antrea-controller.conf; every key has its default without one
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// How much to log: 0 tells what happens, 2 also why, 5 everything
    #[arg(short = 'v', long = "v", value_name = "LEVEL", default_value_t = 0)]
    pub(crate) verbosity: u8,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn flags_are_those_of_upstream() {
        Arguments::command().debug_assert();
        let arguments =
            Arguments::try_parse_from(["antrea-controller", "--config", "/etc/a.conf", "--v=4"]).unwrap();
        assert_eq!(arguments.config, Some(PathBuf::from("/etc/a.conf")));
        assert_eq!(arguments.verbosity, 4);
        assert_eq!(Arguments::try_parse_from(["antrea-controller", "-v", "2"]).unwrap().verbosity, 2);
    }
}

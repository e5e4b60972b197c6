//! The log: lines on standard error, as many as the verbosity asks for.

use std::error::Error;
use std::io::{IsTerminal, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::Registry;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

/// Libraries that speak much about little.
const LIBRARIES: [&str; 5] = ["h2", "hyper", "hyper_util", "rustls", "tower"];

/// Libraries that log as an error what they also return as one.
const REPEATING: [&str; 2] = ["kube_client", "kube_runtime"];

/// Sends the log of this process to standard error. `verbosity` counts as in Kubernetes programs (`-v`): 0 and 1 tell
/// what happens, 2 to 4 also why, 5 and more everything, that of the libraries included.
///
/// # Errors
/// When the process has a log already.
pub fn init(verbosity: u8) -> Result<LogLevel, TryInitError> {
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(stderr)
        .with_ansi(stderr().is_terminal())
        .with_target(false);
    let (layer, handle) = reload::Layer::new(filter(verbosity));
    tracing_subscriber::registry().with(layer).with(lines).try_init()?;
    Ok(LogLevel { handle, verbosity: Arc::new(AtomicU8::new(verbosity)) })
}

/// The verbosity of a running process, which can be changed.
#[derive(Clone, Debug)]
pub struct LogLevel {
    handle: reload::Handle<Targets, Registry>,
    verbosity: Arc<AtomicU8>,
}

/// The log cannot be changed any more.
#[derive(Debug, thiserror::Error)]
#[error("the verbosity of the log cannot be changed")]
pub struct LogLevelError(#[source] reload::Error);

impl LogLevel {
    /// The verbosity now.
    pub fn get(&self) -> u8 {
        self.verbosity.load(Ordering::Relaxed)
    }

    /// Tells more or less from now on; `verbosity` counts as for [`init`].
    ///
    /// # Errors
    /// When the log is gone.
    pub fn set(&self, verbosity: u8) -> Result<(), LogLevelError> {
        self.handle.reload(filter(verbosity)).map_err(LogLevelError)?;
        self.verbosity.store(verbosity, Ordering::Relaxed);
        Ok(())
    }
}

/// An error and its causes on one line. Many errors repeat their cause in their own text: it is said once.
pub fn chain(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !line.ends_with(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        cause = error.source();
    }
    line
}

fn filter(verbosity: u8) -> Targets {
    let own = level(verbosity);
    let (libraries, repeating) = match own {
        LevelFilter::TRACE => (LevelFilter::DEBUG, LevelFilter::DEBUG),
        _ => (LevelFilter::WARN, LevelFilter::OFF),
    };
    Targets::new()
        .with_default(own)
        .with_targets(LIBRARIES.map(|library| (library, libraries)))
        .with_targets(REPEATING.map(|library| (library, repeating)))
}

const fn level(verbosity: u8) -> LevelFilter {
    match verbosity {
        0 | 1 => LevelFilter::INFO,
        2..=4 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    }
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn more_verbosity_shows_more() {
        let shown = |verbosity, target, level| filter(verbosity).would_enable(target, &level);
        assert!(shown(0, "antrea_agent", Level::INFO));
        assert!(!shown(1, "antrea_agent", Level::DEBUG));
        assert!(shown(2, "antrea_agent", Level::DEBUG));
        assert!(!shown(4, "antrea_agent", Level::TRACE));
        assert!(shown(5, "antrea_agent", Level::TRACE));
    }

    #[test]
    fn a_cause_is_said_once() {
        let error = anyhow::anyhow!("no route").context("connecting: no route").context("cannot read it");
        assert_eq!(chain(error.as_ref()), "cannot read it: connecting: no route");
    }

    #[test]
    fn libraries_are_quiet_unless_everything_is_asked_for() {
        let shown = |verbosity, level| filter(verbosity).would_enable("hyper::proto", &level);
        assert!(!shown(4, Level::INFO));
        assert!(shown(0, Level::WARN));
        assert!(shown(5, Level::DEBUG));
        assert!(!filter(0).would_enable("kube_client::client::builder", &Level::ERROR));
    }
}

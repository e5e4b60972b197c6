//! The feature gates of upstream, which of them are available here, and what a file makes of them.

use std::collections::BTreeMap;
use std::fmt;

use serde_saphyr::Spanned;

use crate::error::Problems;
use crate::section::{Setting, shown};

pub use table::FEATURE_GATES;

mod document;
mod of_file;
mod table;

/// A program that has feature gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// antrea-agent.
    Agent,
    /// antrea-controller.
    Controller,
}

/// How mature a feature is, in upstream's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Off unless asked for.
    Alpha,
    /// On unless turned off.
    Beta,
    /// Here to stay.
    Ga,
    /// About to go.
    Deprecated,
}

/// Whether a feature is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is.
    Enabled,
    /// It is not.
    Disabled,
}

/// Whether a feature exists here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// Its gate can be set either way.
    Available,
    /// It is always on: its gate cannot be turned off.
    Locked,
    /// It does not exist yet: it is off, also where upstream's default is on, and cannot be turned on.
    NotYet,
}

/// A feature gate of upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureGate {
    /// The name in `featureGates`.
    pub name: &'static str,
    /// The programs that know it.
    pub components: &'static [Component],
    /// How mature the feature is.
    pub stage: Stage,
    /// Whether it exists here.
    pub availability: Availability,
    /// Upstream's default.
    pub upstream_default: Status,
}

impl FeatureGate {
    /// Whether the feature is on without a word in the file.
    pub const fn default_status(&self) -> Status {
        match self.availability {
            Availability::Available | Availability::Locked => self.upstream_default,
            Availability::NotYet => Status::Disabled,
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Alpha => "ALPHA",
            Self::Beta => "BETA",
            Self::Ga => "GA",
            Self::Deprecated => "DEPRECATED",
        })
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Enabled => "Enabled",
            Self::Disabled => "Disabled",
        })
    }
}

/// Every gate of a program, and whether its feature is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureGates(Vec<(&'static FeatureGate, Status)>);

impl FeatureGates {
    /// All of them, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static FeatureGate, Status)> {
        self.0.iter().copied()
    }

    /// Whether the feature called `name` is on; one that the program does not have is not.
    pub fn status(&self, name: &str) -> Status {
        let found = self.iter().find(|(gate, _)| gate.name == name);
        found.map_or(Status::Disabled, |(_, status)| status)
    }
}

/// The gate of the counts of what policies let through.
pub const NETWORK_POLICY_STATS: &str = "NetworkPolicyStats";

/// The gates that stand for all of a stage.
const TOGGLES: [(&str, Stage); 2] = [("AllAlpha", Stage::Alpha), ("AllBeta", Stage::Beta)];

/// The value of `featureGates`.
pub(crate) type Gates = BTreeMap<String, Spanned<bool>>;

/// What the file makes of the gates of a program. Names that do not exist are refused, and so is turning on what is not
/// available, and turning off what always is.
pub(crate) fn read(gates: &Setting<Gates>, component: Component, problems: &mut Problems) -> FeatureGates {
    for (name, on) in gates.iter().flat_map(|gates| &gates.value) {
        if let Some(message) = refusal(name, on.value, component) {
            refuse_gate(name, on, &message, problems);
        }
    }
    let said = |name: &str| {
        let on = gates.as_ref()?.value.get(name)?.value;
        Some(if on { Status::Enabled } else { Status::Disabled })
    };
    let of_stage = |stage| TOGGLES.iter().find(|(_, of)| *of == stage).and_then(|(name, _)| said(name));
    let status = |gate: &FeatureGate| {
        let asked = said(gate.name).or_else(|| of_stage(gate.stage));
        asked.filter(|_| gate.availability == Availability::Available).unwrap_or(gate.default_status())
    };
    FeatureGates(of(component).map(|gate| (gate, status(gate))).collect())
}

fn refusal(name: &str, on: bool, component: Component) -> Option<String> {
    if TOGGLES.iter().any(|(toggle, _)| *toggle == name) {
        let message = "it includes features that are not available yet; leave it out, or set it to false";
        return on.then(|| message.to_owned());
    }
    let Some(gate) = of(component).find(|gate| gate.name == name) else {
        let names = TOGGLES.iter().map(|(toggle, _)| *toggle).chain(of(component).map(|gate| gate.name));
        let names: Vec<_> = names.collect();
        return Some(format!("there is no such feature gate; allowed are {}", names.join(", ")));
    };
    match (gate.availability, on) {
        (Availability::NotYet, true) => {
            Some(format!("feature gate {name} is not available yet; leave it out, or set it to false"))
        }
        (Availability::Locked, false) => {
            Some("the feature is always on; leave it out, or set it to true".to_owned())
        }
        _ => None,
    }
}

/// Notes that the gate is turned on although nothing comes of it, because of `reason`.
pub(crate) fn refuse_in_vain(gates: &Setting<Gates>, name: &str, reason: &str, problems: &mut Problems) {
    let on = gates.as_ref().and_then(|gates| gates.value.get(name)).filter(|on| on.value);
    if let Some(on) = on {
        refuse_gate(name, on, &format!("{reason}; leave it out, or set it to false"), problems);
    }
}

fn refuse_gate(name: &str, on: &Spanned<bool>, message: &str, problems: &mut Problems) {
    let (line, column) = (on.referenced.line(), on.referenced.column());
    problems.add(line, column, format!("featureGates.{name} {}: {message}", shown(&on.value)));
}

fn of(component: Component) -> impl Iterator<Item = &'static FeatureGate> {
    FEATURE_GATES.iter().filter(move |gate| gate.components.contains(&component))
}

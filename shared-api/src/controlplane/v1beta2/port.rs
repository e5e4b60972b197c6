//! Ports by number or name.

use std::fmt;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protobuf::{
    DecodeError, Field, Fields, Message, Problem, Value, Writer, read_nested, write_nested,
};

/// A port. On the wire it is `IntOrString` of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "IntOrString", into = "IntOrString")]
pub enum Port {
    /// By its number.
    Number(u16),
    /// By the name that Pods give it.
    Name(String),
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => fmt::Display::fmt(number, f),
            Self::Name(name) => f.write_str(name),
        }
    }
}

fn number(number: i32) -> Result<u16, Problem> {
    u16::try_from(number).map_err(|_| Problem::Range(number.into()))
}

impl TryFrom<IntOrString> for Port {
    type Error = Problem;

    fn try_from(port: IntOrString) -> Result<Self, Self::Error> {
        match port {
            IntOrString::Int(port) => number(port).map(Self::Number),
            IntOrString::String(name) => Ok(Self::Name(name)),
        }
    }
}

impl From<Port> for IntOrString {
    fn from(port: Port) -> Self {
        match port {
            Port::Number(number) => Self::Int(number.into()),
            Port::Name(name) => Self::String(name),
        }
    }
}

/// Which of the two values counts.
const NUMBER: i64 = 0;
const NAME: i64 = 1;

impl Message for Port {
    fn write(&self, writer: &mut Writer) {
        let (kind, number, name) = match self {
            Self::Number(number) => (NUMBER, *number, ""),
            Self::Name(name) => (NAME, 0, name.as_str()),
        };
        writer.bytes_field(3, name.as_bytes());
        number.write(2, writer);
        kind.write(1, writer);
    }

    fn read(message: &[u8]) -> Result<Self, DecodeError> {
        let (mut kind, mut port, mut name) = (None, None, None);
        for field in Fields::of(message) {
            match field? {
                (1, value) => i64::read(&mut kind, value)?,
                (2, value) => i32::read(&mut port, value)?,
                (3, value) => String::read(&mut name, value)?,
                _ => {}
            }
        }
        match kind.unwrap_or(NUMBER) {
            NUMBER => Ok(Self::Number(number(port.unwrap_or_default())?)),
            NAME => Ok(Self::Name(name.unwrap_or_default())),
            other => Err(Problem::Range(other.into()).into()),
        }
    }
}

impl Field for Port {
    fn write(&self, number: u32, writer: &mut Writer) {
        write_nested(self, number, writer);
    }

    fn read(slot: &mut Option<Self>, value: Value<'_>) -> Result<(), DecodeError> {
        *slot = Some(read_nested(value)?);
        Ok(())
    }

    fn absent() -> Result<Self, DecodeError> {
        Err(Problem::Missing.into())
    }
}

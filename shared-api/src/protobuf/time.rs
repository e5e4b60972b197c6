//! Points in time, to the second: a message that is empty where there is none.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

use super::{DecodeError, Field, Fields, Problem, Value, Writer};

/// Writes a time that upstream always writes.
pub(crate) fn write_time(time: Option<&Time>, number: u32, writer: &mut Writer) {
    writer.nested(number, |writer| {
        if let Some(time) = time {
            0_i32.write(2, writer);
            time.0.as_second().write(1, writer);
        }
    });
}

/// Reads a time; `None` for the empty message.
pub(crate) fn read_time(value: Value<'_>) -> Result<Option<Time>, DecodeError> {
    let Value::Bytes(message) = value else { return Err(Problem::WireType.into()) };
    let mut seconds = None;
    for field in Fields::of(message) {
        if let (1, value) = field? {
            i64::read(&mut seconds, value)?;
        }
    }
    let Some(seconds) = seconds else { return Ok(None) };
    let time = Timestamp::from_second(seconds).map_err(|_| Problem::Range(seconds.into()))?;
    Ok(Some(Time(time)))
}

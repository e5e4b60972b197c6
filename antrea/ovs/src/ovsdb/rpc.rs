//! The JSON-RPC 1.0 messages of OVSDB (RFC 7047 §4).

use serde_json::{Value, json};

/// A message from the server.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    /// The answer to the request of that number.
    Reply { id: u64, result: Result<Value, Value> },
    /// The server asks whether we are alive; the answer carries the same parameters and id (RFC 7047 §4.1.11).
    Echo { id: Value, params: Value },
    /// Something happened: a monitor's update, or its end.
    Notification { method: String, params: Value },
}

/// A message that is neither reply, request nor notification.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadMessage {
    #[error("not JSON")]
    Json(#[source] serde_json::Error),
    #[error("neither a reply nor a notification: {0}")]
    Shape(String),
}

/// Reads one message.
pub(crate) fn parse(frame: &[u8]) -> Result<Incoming, BadMessage> {
    let mut message: Value = serde_json::from_slice(frame).map_err(BadMessage::Json)?;
    let mut take = |name: &str| message.get_mut(name).map_or(Value::Null, Value::take);
    let (method, params, id) = (take("method"), take("params"), take("id"));
    let (result, error) = (take("result"), take("error"));
    match (method, id) {
        (Value::String(method), id) if method == "echo" => Ok(Incoming::Echo { id, params }),
        (Value::String(method), _) => Ok(Incoming::Notification { method, params }),
        (_, id) => match (id.as_u64(), error) {
            (Some(id), Value::Null) => Ok(Incoming::Reply { id, result: Ok(result) }),
            (Some(id), error) => Ok(Incoming::Reply { id, result: Err(error) }),
            (None, _) => Err(BadMessage::Shape(String::from_utf8_lossy(frame).chars().take(200).collect())),
        },
    }
}

/// A request, to be answered under the same id.
pub(crate) fn request(id: u64, method: &str, params: &Value) -> Vec<u8> {
    json!({"method": method, "params": params, "id": id}).to_string().into_bytes()
}

/// The answer to an echo request.
pub(crate) fn echo_reply(id: &Value, params: &Value) -> Vec<u8> {
    json!({"result": params, "error": null, "id": id}).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &Incoming) {
        assert_eq!(&parse(text.as_bytes()).unwrap(), expected);
    }

    #[test]
    fn replies_carry_a_result_or_an_error() {
        check(r#"{"id":7,"result":[{}],"error":null}"#, &Incoming::Reply { id: 7, result: Ok(json!([{}])) });
        check(
            r#"{"id":7,"result":null,"error":"unknown method"}"#,
            &Incoming::Reply { id: 7, result: Err(json!("unknown method")) },
        );
    }

    #[test]
    fn the_servers_echo_is_answered_in_kind() {
        check(
            r#"{"id":"echo","method":"echo","params":[]}"#,
            &Incoming::Echo { id: json!("echo"), params: json!([]) },
        );
        assert_eq!(echo_reply(&json!("echo"), &json!([])), br#"{"result":[],"error":null,"id":"echo"}"#);
    }

    #[test]
    fn notifications_have_no_id() {
        let update = Incoming::Notification { method: "update3".to_owned(), params: json!([null, "0", {}]) };
        check(r#"{"id":null,"method":"update3","params":[null,"0",{}]}"#, &update);
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["{}", "{", r#"{"id":"x","result":1}"#] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}

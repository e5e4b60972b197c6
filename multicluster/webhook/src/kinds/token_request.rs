//! TokenRequest: a member renews the token of its own ServiceAccount, and so can a thief of that token. No token lasts
//! longer than the leader lets it. Of what others ask for, RBAC alone says whether they may.

use std::time::Duration;

use serde_json::{Value, json};

use crate::caller::Caller;
use crate::denied::{Denied, forbid};
use crate::review::{Request, Verdict};
use crate::surroundings::Surroundings;

/// The shortest token that API servers grant.
const SHORTEST: Duration = Duration::from_secs(600);

/// Shortens what is asked for, so that members whose configuration wants more go on renewing.
pub(crate) fn shorten(request: &Request, surroundings: &Surroundings) -> Verdict {
    match patch(request, surroundings) {
        Ok(Some(patch)) => Verdict::Patched(vec![patch]),
        Ok(None) => Verdict::Allowed,
        Err(denied) => Verdict::Denied(denied),
    }
}

fn patch(request: &Request, surroundings: &Surroundings) -> Result<Option<Value>, Denied> {
    let Some(longest) = longest(request, surroundings)? else { return Ok(None) };
    is_bound_to_nothing(request)?;
    // The API server adds its own audience after this, and before it asks whether the whole is valid.
    if of_spec(request, "audiences").and_then(Value::as_array).is_some_and(|all| !all.is_empty()) {
        return forbid(
            "spec.audiences: the token of a member is for the API server of the leader, and for nobody else",
        );
    }
    let too_long = wanted(request) > longest;
    Ok(too_long.then(|| json!({ "op": "replace", "path": "/spec/expirationSeconds", "value": longest })))
}

/// Whether what is left is short enough: other webhooks may have changed it.
pub(crate) fn review(request: &Request, surroundings: &Surroundings) -> Result<(), Denied> {
    let Some(longest) = longest(request, surroundings)? else { return Ok(()) };
    is_bound_to_nothing(request)?;
    let wanted = wanted(request);
    if wanted > longest {
        return forbid(format!(
            "spec.expirationSeconds: tokens of this member last {longest} s at most, not {wanted} s"
        ));
    }
    Ok(())
}

/// For how many seconds a token may last that a member asks for; nothing where somebody else asks.
fn longest(request: &Request, surroundings: &Surroundings) -> Result<Option<i64>, Denied> {
    let area = surroundings.common_area(&request.namespace)?;
    let caller = Caller::in_area(&request.user_info, surroundings, &request.namespace, area)?;
    let Caller::Member(cluster) = caller else { return Ok(None) };
    let account = area.accounts()?.get(&request.name);
    let own = account.filter(|account| account.bound_to.as_deref() == Some(cluster.as_str()));
    let Some(own) = own else {
        return forbid(format!(
            "cluster {cluster} may ask for tokens of its own ServiceAccount alone, not of {}",
            request.name
        ));
    };
    let limit = own.token_lifetime.unwrap_or(surroundings.installation().token_lifetime);
    Ok(Some(i64::try_from(limit.max(SHORTEST).as_secs()).unwrap_or(i64::MAX)))
}

/// API servers make tokens of Pods last for a year where these seem to expect it.
fn is_bound_to_nothing(request: &Request) -> Result<(), Denied> {
    match of_spec(request, "boundObjectRef") {
        None | Some(Value::Null) => Ok(()),
        Some(_) => forbid("spec.boundObjectRef: the token of a member is bound to no other object"),
    }
}

/// How many seconds are asked for. The API server has put in its own wish where nobody had one.
fn wanted(request: &Request) -> i64 {
    of_spec(request, "expirationSeconds").and_then(Value::as_i64).unwrap_or_default()
}

fn of_spec<'a>(request: &'a Request, field: &str) -> Option<&'a Value> {
    request.object.get("spec")?.get(field)
}

//! Answers to create: what agents report, and questions.

use std::time::Duration;

use antrea_kit::request_body::RequestBody;
use antrea_shared_api::api::{WireObject, from_json};
use antrea_shared_api::controlplane::v1beta2::{
    NetworkPolicyEvaluation, NetworkPolicyStatus, NodeStatsSummary,
};
use antrea_shared_api::meta::{ListMeta, Status, StatusOutcome};
use antrea_shared_api::protobuf::decode;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::{HeaderMap, StatusCode};
use tokio::time::timeout;

use super::accept::{Format, content, negotiate};
use super::answer::{self, Answer};
use super::failure::Failure;
use super::request::ResourcePath;
use super::resources::Served;
use super::{Api, Caller};
use crate::cluster::{CannotEvaluate, CannotReport};
use crate::store::Encoding;

/// How large a body may be, in bytes: what API servers of Kubernetes take.
const LARGEST_BODY: usize = 3 << 20;

/// How long a body may take.
const BODY_TIME: Duration = Duration::from_secs(30);

pub(super) async fn create(
    api: &Api,
    served: Served,
    path: &ResourcePath,
    caller: Caller<'_>,
    headers: &HeaderMap,
    body: RequestBody,
) -> Result<Answer, Failure> {
    let offered = [Format::Json, Format::Protobuf];
    let format = negotiate(headers, &offered).ok_or_else(Failure::not_acceptable)?;
    let encoding = content(headers).ok_or_else(Failure::unknown_content)?;
    let body = read(body).await?;
    match served {
        Served::PolicyStatus => {
            let status = decoded(&body, encoding)?;
            caller.reach.check_status(caller.action, &status)?;
            report_status(api, path, &status, format)
        }
        Served::NodeStats => {
            let summary: NodeStatsSummary = decoded(&body, encoding)?;
            caller.reach.check_report(caller.action, &summary.metadata.name)?;
            api.cluster.report_stats(summary);
            Ok(answer::object(StatusCode::CREATED, &NodeStatsSummary::default(), format))
        }
        Served::Evaluation => evaluate(api, decoded(&body, encoding)?, format),
        _ => Err(Failure::no_such_method()),
    }
}

async fn read(body: RequestBody) -> Result<Bytes, Failure> {
    let read = timeout(BODY_TIME, Limited::new(body, LARGEST_BODY).collect()).await;
    match read.map_err(|_| Failure::body_too_slow())? {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Failure::too_large(LARGEST_BODY)),
        Err(error) => Err(Failure::bad_request(format!("the body of the request cannot be read: {error}"))),
    }
}

fn decoded<T: WireObject>(body: &[u8], encoding: Encoding) -> Result<T, Failure> {
    let object = match encoding {
        Encoding::Json => from_json(body),
        Encoding::Protobuf => decode(body),
    };
    object.map_err(|error| Failure::bad_request(format!("the body of the request cannot be used: {error}")))
}

fn report_status(
    api: &Api,
    path: &ResourcePath,
    status: &NetworkPolicyStatus,
    format: Format,
) -> Result<Answer, Failure> {
    let name = &status.metadata.name;
    if *name != path.name {
        let asked = &path.name;
        return Err(Failure::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({asked})"
        )));
    }
    match api.cluster.report_status(status.clone()) {
        Ok(()) => Ok(answer::object(StatusCode::CREATED, &success(), format)),
        Err(CannotReport::UnknownPolicy) => Err(Failure::no_such_object(path)),
        Err(CannotReport::NodesUnknown) => Err(Failure::still_filling()),
    }
}

fn success() -> Status {
    Status {
        metadata: ListMeta::default(),
        status: StatusOutcome::Success,
        message: String::new(),
        reason: String::new(),
        details: None,
        code: 0,
    }
}

fn evaluate(api: &Api, mut evaluation: NetworkPolicyEvaluation, format: Format) -> Result<Answer, Failure> {
    let Some(request) = &evaluation.request else {
        return Err(Failure::bad_request("the request does not say which Pods it is about"));
    };
    evaluation.response =
        api.cluster.evaluate(request).map_err(|CannotEvaluate(why)| Failure::bad_request(why))?;
    Ok(answer::object(StatusCode::CREATED, &evaluation, format))
}

//! Answers with one object, list or table.

use antrea_shared_api::api::{ApiObject, Listed, to_json};
use antrea_shared_api::meta::{
    Column, ColumnFormat, ColumnType, List, ListMeta, Metadata, PartialObjectMetadata, Printed, Row, Table,
};
use antrea_shared_api::protobuf::{Field, MEDIA_TYPE, Message, encode};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;

use super::Body;
use super::accept::Format;
use super::failure::Failure;

/// What a request is answered with.
pub(crate) type Answer = Response<Body>;

pub(crate) const JSON: &str = "application/json";

/// An answer that no proxy may keep.
pub(crate) fn answer(code: StatusCode, content_type: &'static str, body: Body) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = code;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    answer
}

/// An object with its kind. A table of it is made elsewhere.
pub(crate) fn object<T: ApiObject + Serialize + Message>(
    code: StatusCode,
    object: &T,
    format: Format,
) -> Answer {
    match format {
        Format::Protobuf => answer(code, MEDIA_TYPE, encode(object).into()),
        _ => json_object(code, object),
    }
}

/// An object that there is no protobuf of.
pub(crate) fn json_object<T: ApiObject + Serialize>(code: StatusCode, object: &T) -> Answer {
    match to_json(object) {
        Ok(mut json) => {
            json.push(b'\n');
            answer(code, JSON, json.into())
        }
        // A Status is always encoded: this ends here.
        Err(_) => Failure::not_encoded().answer(Some(Format::Protobuf)),
    }
}

/// Objects as a list or a table.
pub(crate) fn list<T: Listed + Field + Serialize>(
    items: Vec<T>,
    format: Format,
    table: impl FnOnce(&[T]) -> Table,
) -> Answer {
    match format {
        Format::Table => json_object(StatusCode::OK, &table(&items)),
        _ => object(StatusCode::OK, &List::of(items), format),
    }
}

/// One object, or a table of it.
pub(crate) fn one<T: Listed + Message + Serialize>(
    item: &T,
    format: Format,
    table: impl FnOnce(&[T]) -> Table,
) -> Answer {
    match format {
        Format::Table => json_object(StatusCode::OK, &table(std::slice::from_ref(item))),
        _ => object(StatusCode::OK, item, format),
    }
}

/// The table of objects that know how they are printed.
pub(crate) fn printed<T: Printed>(objects: &[T]) -> Table {
    Table::of(objects)
}

/// What Go writes for a time that was never set: kubectl prints it as unknown.
const NO_TIME: &str = "0001-01-01T00:00:00Z";

/// The table of objects of which no more is printed than name and age.
pub(crate) fn plain<T>(objects: &[T], metadata: impl Fn(&T) -> &Metadata) -> Table {
    let row = |object: &T| {
        let metadata = metadata(object).clone();
        let created = metadata.creation_timestamp.as_ref().map(serde_json::to_value);
        let created = created.and_then(Result::ok).unwrap_or_else(|| NO_TIME.into());
        Row { cells: vec![metadata.name.clone().into(), created], object: PartialObjectMetadata { metadata } }
    };
    Table {
        metadata: ListMeta::default(),
        column_definitions: vec![
            Column::new("Name", ColumnType::String, ColumnFormat::Name, "The name of the object."),
            Column::new("Created At", ColumnType::Date, ColumnFormat::Plain, "When the object was created."),
        ],
        rows: objects.iter().map(row).collect(),
    }
}

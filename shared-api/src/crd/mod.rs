//! Custom resources of the group `crd.antrea.io`.

pub mod v1beta1;

/// The API group.
pub const GROUP: &str = "crd.antrea.io";

/// Whether a number is 0, and left out of the JSON.
pub(crate) fn is_zero(number: &i32) -> bool {
    *number == 0
}

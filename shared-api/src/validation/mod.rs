//! Whether objects are valid, beyond what CRDs can say: for webhooks, and for whoever reads what a neighbour wrote.
//!
//! Nothing here changes an object, looks at another one or asks who wrote it.

mod announce;
mod claim;
mod cluster_info;
mod cluster_set;
mod endpoints;
mod gateway;
mod label_identity;
mod mcs;
mod ports;
mod problems;
mod resource_export;
mod resource_import;
pub mod values;

pub use problems::FieldError;
pub(crate) use problems::Problems;

/// A kind whose objects can be wrong.
pub trait Validate {
    /// What is wrong with the object, field by field in their order; nothing when it is valid.
    fn validate(&self) -> Vec<FieldError>;

    /// Which fields differ from those of `old` though they never may.
    fn changed_constants(&self, _old: &Self) -> Vec<FieldError> {
        Vec::new()
    }

    /// What a change of `old` makes wrong. What was wrong before is not held against it, so that finalizers can be
    /// taken off objects that older rules let through.
    fn validate_update(&self, old: &Self) -> Vec<FieldError> {
        let known = old.validate();
        let mut errors = self.validate();
        errors.retain(|error| !known.contains(error));
        errors.extend(self.changed_constants(old));
        errors
    }
}

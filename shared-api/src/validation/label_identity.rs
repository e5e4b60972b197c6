//! LabelIdentity.

use super::{FieldError, Problems, Validate};
use crate::labels;
use crate::multicluster::v1alpha1::{LabelIdentity, LabelIdentitySpec};

/// Numbers that the leader gives; a packet has 24 bits for one, and all of them set means that it is not known.
const IDS: std::ops::RangeInclusive<u32> = 1..=0x00ff_fffe;

impl Validate for LabelIdentity {
    fn validate(&self) -> Vec<FieldError> {
        Problems::of(|problems| {
            problems.name(self.metadata.name.as_deref(), &labels::identity_name(&self.spec.label));
            problems.within("spec", |problems| check(problems, &self.spec));
        })
    }

    fn changed_constants(&self, old: &Self) -> Vec<FieldError> {
        Problems::of(|problems| problems.constant("spec.label", &old.spec.label, &self.spec.label))
    }
}

pub(crate) fn check(problems: &mut Problems, identity: &LabelIdentitySpec) {
    problems.check("label", labels::parse(&identity.label).err().map(|error| error.to_string()));
    if !IDS.contains(&identity.id) {
        problems.add("id", format!("{} is not from {} to {}", identity.id, IDS.start(), IDS.end()));
    }
}

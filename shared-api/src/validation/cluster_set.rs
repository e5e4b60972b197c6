//! ClusterSet of both versions.

use super::{FieldError, Problems, Validate, values};
use crate::multicluster::{v1alpha1, v1alpha2};

impl Validate for v1alpha2::ClusterSet {
    fn validate(&self) -> Vec<FieldError> {
        Problems::of(|problems| {
            problems.within("spec", |problems| {
                problems.check("clusterID", values::id(&self.spec.cluster_id));
                check_number(problems, self.spec.leaders.len());
                problems.each("leaders", &self.spec.leaders, |problems, leader| {
                    problems.check("clusterID", values::id(&leader.cluster_id));
                    check_access(problems, &leader.secret, &leader.server);
                });
                check_namespace(problems, &self.spec.namespace);
            });
        })
    }

    fn changed_constants(&self, old: &Self) -> Vec<FieldError> {
        Problems::of(|problems| {
            constant_once_set(problems, "spec.clusterID", &old.spec.cluster_id, &self.spec.cluster_id);
            constant_once_set(problems, "spec.leaders[0].clusterID", leader(old), leader(self));
        })
    }
}

fn leader(set: &v1alpha2::ClusterSet) -> &str {
    set.spec.leaders.first().map(|leader| leader.cluster_id.as_str()).unwrap_or_default()
}

/// Objects of v1alpha1 come without, and get their ID later.
fn constant_once_set(problems: &mut Problems, field: &str, old: &str, new: &str) {
    if !old.is_empty() {
        problems.constant(field, old, new);
    }
}

impl Validate for v1alpha1::ClusterSet {
    fn validate(&self) -> Vec<FieldError> {
        Problems::of(|problems| {
            problems.within("spec", |problems| {
                if !self.spec.cluster_id.is_empty() {
                    problems.check("clusterID", values::id(&self.spec.cluster_id));
                }
                problems.each("members", &self.spec.members, check_member);
                check_number(problems, self.spec.leaders.len());
                problems.each("leaders", &self.spec.leaders, check_member);
                check_namespace(problems, &self.spec.namespace);
            });
        })
    }
}

fn check_member(problems: &mut Problems, member: &v1alpha1::MemberCluster) {
    problems.check("clusterID", values::id(&member.cluster_id));
    check_access(problems, &member.secret, &member.server);
    if !member.service_account.is_empty() {
        problems.check("serviceAccount", values::dns_subdomain(&member.service_account));
    }
}

fn check_number(problems: &mut Problems, leaders: usize) {
    if leaders != 1 {
        problems.add("leaders", format!("there must be one, not {leaders}"));
    }
}

/// How a member reaches its leader; a leader's own ClusterSet has neither.
fn check_access(problems: &mut Problems, secret: &str, server: &str) {
    if !secret.is_empty() {
        problems.check("secret", values::dns_subdomain(secret));
    }
    if !server.is_empty() {
        problems.check("server", values::server(server));
    }
}

fn check_namespace(problems: &mut Problems, namespace: &str) {
    if !namespace.is_empty() {
        problems.check("namespace", values::dns_label(namespace));
    }
}

//! The words of conditions of ServiceExports and ServiceImports (mcs-api `v1beta1`).

/// Types of conditions of a ServiceExport.
pub mod export_condition {
    /// The Service is there and may be exported.
    pub const VALID: &str = "Valid";
    /// It is exported.
    pub const READY: &str = "Ready";
    /// Clusters export it with properties that contradict each other.
    pub const CONFLICT: &str = "Conflict";
}

/// Types of conditions of a ServiceImport.
pub mod import_condition {
    /// The Service can be reached in this cluster.
    pub const READY: &str = "Ready";
}

/// Reasons of the condition `Valid`.
pub mod valid_reason {
    /// True: nothing is wrong.
    pub const VALID: &str = "Valid";
    /// False: there is no Service of that name.
    pub const NO_SERVICE: &str = "NoService";
    /// False: a Service of that type cannot be exported, as ExternalName.
    pub const INVALID_SERVICE_TYPE: &str = "InvalidServiceType";
}

/// Reasons of the condition `Ready`.
pub mod ready_reason {
    /// True, of an export: it is in the Common Area.
    pub const EXPORTED: &str = "Exported";
    /// True.
    pub const READY: &str = "Ready";
    /// False or unknown: not yet.
    pub const PENDING: &str = "Pending";
    /// False, of an export: the message says why.
    pub const FAILED: &str = "Failed";
    /// False, of an import: none of its families is one of the cluster.
    pub const IP_FAMILY_NOT_SUPPORTED: &str = "IPFamilyNotSupported";
}

/// Reasons of the condition `Conflict`. Several are joined by commas.
pub mod conflict_reason {
    /// Ports differ.
    pub const PORT: &str = "PortConflict";
    /// One is headless, another is not.
    pub const TYPE: &str = "TypeConflict";
    /// `sessionAffinity` differs.
    pub const SESSION_AFFINITY: &str = "SessionAffinityConflict";
    /// `sessionAffinityConfig` differs.
    pub const SESSION_AFFINITY_CONFIG: &str = "SessionAffinityConfigConflict";
    /// Exported labels differ.
    pub const LABELS: &str = "LabelsConflict";
    /// Exported annotations differ.
    pub const ANNOTATIONS: &str = "AnnotationsConflict";
    /// `internalTrafficPolicy` differs.
    pub const INTERNAL_TRAFFIC_POLICY: &str = "InternalTrafficPolicyConflict";
    /// `trafficDistribution` differs.
    pub const TRAFFIC_DISTRIBUTION: &str = "TrafficDistributionConflict";
    /// `ipFamilies` differ.
    pub const IP_FAMILY: &str = "IPFamilyConflict";
    /// False: there is none.
    pub const NO_CONFLICTS: &str = "NoConflicts";
}

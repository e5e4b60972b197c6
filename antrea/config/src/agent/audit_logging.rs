//! `auditLogging`: rotation of the log of policy verdicts.

use crate::section::section;

section! {
    /// As it stands in the file.
    AuditLogging {
        max_size: i64 = "maxSize", 500;
        max_backups: i64 = "maxBackups", 3;
        max_age: i64 = "maxAge", 28;
        compress: bool = "compress", true;
    }
}

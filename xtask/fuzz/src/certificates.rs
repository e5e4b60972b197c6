//! Certificates of clients, as DER: whom they are for.

use antrea_kit::auth::Subject;

/// Nobody has a name that is not in the certificate.
pub(crate) fn read(bytes: &[u8]) {
    let Some(Subject { common_name, organizations }) = Subject::of(bytes) else { return };
    for name in organizations.iter().chain([&common_name]).filter(|name| !name.is_empty()) {
        assert!(bytes.windows(name.len()).any(|part| part == name.as_bytes()), "{name:?} is made up");
    }
}

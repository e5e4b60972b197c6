//! The token of a process for programs of its own Pod: whoever can read the file may ask everything, without the API
//! server of the cluster.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustls::crypto::aws_lc_rs::default_provider;
use sha2::{Digest as _, Sha256};

/// Where antctl in the container of a program finds its token, as upstream's does.
const TOKEN_FILE: &str = "/var/run/antrea/apiserver/loopback-client-token";

/// And what vouches for the certificate of the API that it talks to.
const CA_FILE: &str = "/var/run/antrea/apiserver/loopback-ca.crt";

/// A token that cannot be given to anybody.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    /// The machine has no random numbers.
    #[error("there are no random numbers for a token")]
    Random,
    /// The file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// What a token hashes to. Tokens are compared and remembered by it: how long a comparison takes says nothing of the
/// token then, and whoever reads the memory of a process finds no tokens.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TokenHash(pub(super) [u8; 32]);

impl TokenHash {
    pub(crate) fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }
}

/// A token for programs of the same Pod.
#[derive(Clone)]
pub struct LoopbackToken(String);

impl LoopbackToken {
    /// A new one, of 256 random bits.
    ///
    /// # Errors
    /// When there are no random numbers.
    pub fn generate() -> Result<Self, TokenFileError> {
        let mut bytes = [0; 32];
        default_provider().secure_random.fill(&mut bytes).map_err(|_| TokenFileError::Random)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Puts it where its readers look; only the owner of the process can read it. A folder that is not there is made.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), TokenFileError> {
        write_secret(path, &self.0).map_err(|source| TokenFileError::Write { path: path.to_owned(), source })
    }

    pub(super) fn hash(&self) -> TokenHash {
        TokenHash::of(&self.0)
    }
}

/// Gives programs of this Pod their token, and what vouches for the certificate of the API. To be called once the port
/// is had: where another process has it, those files are its own.
///
/// # Errors
/// When a file cannot be written.
pub fn admit_own_pod(token: &LoopbackToken, authority: &str) -> Result<(), TokenFileError> {
    token.write(Path::new(TOKEN_FILE))?;
    let path = Path::new(CA_FILE);
    fs::write(path, authority).map_err(|source| TokenFileError::Write { path: path.to_owned(), source })
}

impl fmt::Debug for LoopbackToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LoopbackToken")
    }
}

/// A file with another name first: whoever had the old one open does not get the new token, and nobody sees half of it.
fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let passing = path.with_extension("new");
    match fs::remove_file(&passing) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&passing)?;
    file.write_all(text.as_bytes())?;
    fs::rename(&passing, path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_its_owner_can_read_the_file_even_where_there_was_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("apiserver/loopback-client-token");
        LoopbackToken::generate().unwrap().write(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let token = LoopbackToken::generate().unwrap();
        token.write(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::read_to_string(&path).unwrap(), token.0);
    }

    #[test]
    fn no_two_tokens_are_alike_and_none_is_printed() {
        let [one, other] = [(); 2].map(|()| LoopbackToken::generate().unwrap());
        assert_ne!(one.0, other.0);
        assert_eq!(format!("{one:?}"), "LoopbackToken");
    }
}

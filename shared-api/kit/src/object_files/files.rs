//! Reads the objects of a folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::objects::Key;

/// Files that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ObjectFileError {
    /// The folder or a file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file is neither YAML nor JSON.
    #[error("{}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        message: String,
    },
    /// Something in a file is no object.
    #[error("{}: an object needs apiVersion, kind and metadata.name", path.display())]
    NoObject {
        /// The file.
        path: PathBuf,
    },
}

/// All objects in the folder's files, in the order of the files' names.
pub(super) fn read(folder: &Path) -> Result<Vec<(Key, Value)>, ObjectFileError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| ObjectFileError::Read { path, source }
    };
    let entries: io::Result<Vec<_>> = fs::read_dir(folder).map_err(failed(folder))?.collect();
    let mut paths: Vec<PathBuf> = entries.map_err(failed(folder))?.iter().map(fs::DirEntry::path).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml" || extension == "json"));
    paths.sort();
    let mut objects = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(failed(&path))?;
        objects.extend(parse(&path, &text)?);
    }
    Ok(objects)
}

/// The objects that the text of a file has; `path` names it in errors.
///
/// # Errors
/// When it is neither YAML nor JSON, or has something that is no object.
pub fn objects_in(path: &Path, text: &str) -> Result<Vec<Value>, ObjectFileError> {
    Ok(parse(path, text)?.into_iter().map(|(_, object)| object).collect())
}

fn parse(path: &Path, text: &str) -> Result<Vec<(Key, Value)>, ObjectFileError> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text)
        .map_err(|error| ObjectFileError::Syntax { path: path.to_owned(), message: error.to_string() })?;
    let mut objects = Vec::new();
    for document in documents.into_iter().filter(|document| !document.is_null()) {
        let listed = document["items"].as_array().filter(|_| document["kind"] == "List").cloned();
        for object in listed.unwrap_or_else(|| vec![document]) {
            let key = Key::of(&object).ok_or_else(|| ObjectFileError::NoObject { path: path.to_owned() })?;
            objects.push((key, object));
        }
    }
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use antrea_damage::Damage;

    use super::*;

    fn check(text: &str) -> String {
        match parse(Path::new("a.yaml"), text) {
            Ok(objects) => objects.iter().map(|(key, _)| key.to_string()).collect::<Vec<_>>().join(", "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_file_holds_documents_and_lists() {
        let text = "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n---\n\
                    {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: team}}]}\n";
        assert_eq!(check(text), "v1 nodes a, v1 pods team/p");
        assert_eq!(check("# nothing\n"), "");
    }

    #[test]
    fn what_is_no_object_is_told_with_its_file() {
        assert_eq!(check("kind: Node\n"), "a.yaml: an object needs apiVersion, kind and metadata.name");
        assert!(check("{").starts_with("a.yaml: "));
    }

    #[test]
    fn damaged_files_are_read_without_harm() {
        let text = "# Two Nodes\napiVersion: v1\nkind: Node\nmetadata:\n  name: &first a\n  annotations: {\"k\": 'v'}\n\
                    spec:\n  podCIDRs: [10.0.0.0/24, \"fd00::/64\"]\n---\n\
                    apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: *first, \
                    namespace: team}\n  spec:\n    text: |\n      one\n      two\n";
        let json = r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"b","labels":{}},"spec":{"podCIDR":null}}"#;
        let words = [
            "*first",
            "&first ",
            "<<: ",
            "- ",
            "? ",
            "!!binary ",
            "---\n",
            "...\n",
            "\t",
            "{",
            "]",
            "\"\\x",
            "|2\n",
            "%YAML 9\n",
        ];
        let samples = [text.as_bytes().to_vec(), json.as_bytes().to_vec()];
        Damage { samples: &samples, words: &words, cases: 5_000 }.each(|input| {
            check(&String::from_utf8_lossy(input));
        });
    }

    #[test]
    fn a_text_that_would_grow_without_end_is_refused() {
        let mut text = "a: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..20 {
            let before = format!("*a{}", level - 1);
            text += &format!("b{level}: &a{level} [{}]\n", vec![before; 10].join(", "));
        }
        assert!(check(&text).starts_with("a.yaml: "), "{}", check(&text));
    }

    #[test]
    fn a_text_that_is_nested_too_deeply_is_refused() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("- ", "")] {
            let text = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
            assert!(check(&text).starts_with("a.yaml: "));
        }
    }
}

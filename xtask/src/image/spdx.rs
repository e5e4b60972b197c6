//! What is in an image, for scanners: an SPDX 2.3 document (<https://spdx.github.io/spdx-spec/v2.3/>) with Debian's packages,
//! the crates of our programs, and files that are of neither. The same image has the same document: its time is zero, and
//! its namespace a digest of the rest.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::debian::{Origin, Package};
use super::oci;
use crate::crates::{self, Crate};

/// For what nobody has looked into: of Debian's packages, licences and copyright.
const UNKNOWN: &str = "NOASSERTION";

/// What an image is made of.
pub(crate) struct Contents<'a> {
    /// Its name and version.
    pub(crate) image: (&'a str, &'a str),
    /// Where its files of the machine come from.
    pub(crate) origin: &'a Origin,
    /// What is linked into its programs; of several, each once.
    pub(crate) crates: Vec<&'a Crate>,
}

/// The document as text.
///
/// # Errors
/// When a file that no package has cannot be read.
pub(crate) fn document(contents: &Contents<'_>) -> Result<String> {
    let (name, version) = contents.image;
    let mut packages = vec![image(name, version)];
    packages.extend(
        contents.origin.packages.iter().map(|package| debian(package, &contents.origin.distribution)),
    );
    packages.extend(contents.crates.iter().map(|one| krate(one)));
    for path in &contents.origin.unknown {
        packages.push(file(path)?);
    }
    let described = |kind: &str, of: &Value, to: &Value| json!({"spdxElementId": of, "relationshipType": kind, "relatedSpdxElement": to});
    let image_id = packages.first().map(|image| image["SPDXID"].clone()).unwrap_or_default();
    let mut relationships = vec![described("DESCRIBES", &json!("SPDXRef-DOCUMENT"), &image_id)];
    relationships
        .extend(packages.iter().skip(1).map(|package| described("CONTAINS", &image_id, &package["SPDXID"])));
    let digest = oci::digest(&serde_json::to_vec(&packages)?);
    let document = json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": format!("{name}-{version}"),
        "documentNamespace": format!("http://spdx.org/spdxdocs/{name}-{version}-{}", digest.trim_start_matches("sha256:")),
        "creationInfo": {"created": "1970-01-01T00:00:00Z", "creators": ["Tool: cargo-xtask-image"]},
        "packages": packages,
        "relationships": relationships,
    });
    Ok(format!("{}\n", serde_json::to_string_pretty(&document)?))
}

/// A package of the document, with a name and a version that make its identifier.
fn package(kind: &str, name: &str, version: &str, licence: &str) -> Value {
    json!({
        "SPDXID": identifier(&[kind, name, version]),
        "name": name,
        "versionInfo": version,
        "downloadLocation": UNKNOWN,
        "filesAnalyzed": false,
        "licenseConcluded": UNKNOWN,
        "licenseDeclared": licence,
        "copyrightText": UNKNOWN,
    })
}

fn image(name: &str, version: &str) -> Value {
    let mut image = package("Image", name, version, UNKNOWN);
    image["primaryPackagePurpose"] = json!("CONTAINER");
    image
}

fn debian(one: &Package, distribution: &str) -> Value {
    let mut described = package("Debian", &one.name, &one.version, UNKNOWN);
    let (source, version) = &one.source;
    described["sourceInfo"] = json!(format!("built from the source package {source} {version}"));
    let (vendor, _) = distribution.split_once('-').unwrap_or((distribution, ""));
    let locator = format!(
        "pkg:deb/{vendor}/{}@{}?arch={}&distro={distribution}&upstream={}%40{}",
        encoded(&one.name),
        encoded(&one.version),
        one.architecture,
        encoded(source),
        encoded(version),
    );
    described["externalRefs"] = url(&locator);
    described
}

fn krate(one: &Crate) -> Value {
    // Older Cargo.tomls have a slash between licences of which one may be chosen.
    let licence =
        one.licence.as_deref().map(|text| text.split('/').map(str::trim).collect::<Vec<_>>().join(" OR "));
    let mut described = package("Crate", &one.name, &one.version, licence.as_deref().unwrap_or(UNKNOWN));
    // The project's own are not at crates.io.
    if matches!(one.origin, crates::Origin::Source(_)) {
        described["externalRefs"] =
            url(&format!("pkg:cargo/{}@{}", encoded(&one.name), encoded(&one.version)));
    }
    described
}

/// A file that came from this machine, and of no package: its digest is all that is known.
fn file(path: &PathBuf) -> Result<Value> {
    let content = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let digest = oci::digest(&content);
    let digest = digest.trim_start_matches("sha256:");
    let mut described = package("File", &path.display().to_string(), digest, UNKNOWN);
    described["checksums"] = json!([{"algorithm": "SHA256", "checksumValue": digest}]);
    described["primaryPackagePurpose"] = json!("FILE");
    Ok(described)
}

/// A package URL (<https://github.com/package-url/purl-spec>).
fn url(locator: &str) -> Value {
    json!([{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}])
}

/// Letters, digits, dots and dashes are all that an identifier may have.
fn identifier(words: &[&str]) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() || letter == '.' { letter } else { '-' };
    format!("SPDXRef-{}", words.join("-").chars().map(letter).collect::<String>())
}

fn encoded(text: &str) -> String {
    let mut result = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' | b'~' => {
                result.push(char::from(byte));
            }
            _ => result += &format!("%{byte:02X}"),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn sample() -> Origin {
        let package = Package {
            name: "libstdc++6".into(),
            version: "1:12.2.0-14+deb12u1".into(),
            architecture: "amd64".into(),
            source: ("gcc-12".into(), "12.2.0-14".into()),
        };
        Origin {
            distribution: "debian-12".into(),
            packages: BTreeSet::from([package]),
            unknown: BTreeSet::new(),
        }
    }

    fn krates() -> [Crate; 2] {
        let krate = |name: &str, licence: &str, origin| Crate {
            name: name.into(),
            version: "0.1.0".into(),
            licence: Some(licence.into()),
            origin,
        };
        let registry = crates::Origin::Source("registry".into());
        [
            krate("antrea-cni", "Apache-2.0", crates::Origin::Project),
            krate("fnv", "Apache-2.0 / MIT", registry),
        ]
    }

    #[test]
    fn an_image_is_described_by_packages_crates_and_files() {
        let (origin, crates) = (sample(), krates());
        let image = ("antrea-agent-debian", "0.1.0");
        let contents = Contents { image, origin: &origin, crates: crates.iter().collect() };
        let text = document(&contents).unwrap();
        insta::assert_snapshot!(text);
        assert_eq!(text, document(&contents).unwrap());
    }

    #[test]
    fn the_namespace_of_a_document_changes_with_what_is_in_the_image() {
        let namespace = |origin: &Origin| {
            let contents = Contents { image: ("a", "1"), origin, crates: Vec::new() };
            let document: Value = serde_json::from_str(&document(&contents).unwrap()).unwrap();
            document["documentNamespace"].clone()
        };
        assert_ne!(namespace(&sample()), namespace(&Origin { distribution: "debian-13".into(), ..sample() }));
    }

    #[test]
    fn a_file_of_no_package_is_described_by_its_digest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        std::fs::write(&path, "abc").unwrap();
        let described = file(&path).unwrap();
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(described["checksums"][0]["checksumValue"], digest);
    }
}

//! Whom a certificate is for: common name and organizations of its subject (RFC 5280 §4.1.2.6), as far as DER has to be
//! understood for that.

/// DER tags.
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_IDENTIFIER: u8 = 0x06;
const UTF8_STRING: u8 = 0x0c;
const PRINTABLE_STRING: u8 = 0x13;
const IA5_STRING: u8 = 0x16;
const EXPLICIT_VERSION: u8 = 0xa0;

/// 2.5.4.3 and 2.5.4.10.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];

/// Whom a certificate is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The common name; the last, if there are several.
    pub common_name: String,
    /// The organizations: what Kubernetes calls groups.
    pub organizations: Vec<String>,
}

/// A value and what follows it.
struct Value<'a> {
    tag: u8,
    content: &'a [u8],
    rest: &'a [u8],
}

impl Subject {
    /// The subject of a certificate in DER; nothing where there is none that can be read.
    pub fn of(certificate: &[u8]) -> Option<Self> {
        let to_be_signed = expect(expect(certificate, SEQUENCE)?.content, SEQUENCE)?.content;
        let mut rest = to_be_signed;
        let first = next(rest)?;
        if first.tag == EXPLICIT_VERSION {
            rest = first.rest;
        }
        // Serial number, signature algorithm, issuer and validity come before it.
        for _ in 0..4 {
            rest = next(rest)?.rest;
        }
        Self::of_name(expect(rest, SEQUENCE)?.content)
    }

    fn of_name(mut names: &[u8]) -> Option<Self> {
        let mut subject = Self::default();
        while !names.is_empty() {
            let set = expect(names, SET)?;
            names = set.rest;
            let mut attributes = set.content;
            while !attributes.is_empty() {
                let attribute = expect(attributes, SEQUENCE)?;
                attributes = attribute.rest;
                subject.add(attribute.content)?;
            }
        }
        Some(subject)
    }

    fn add(&mut self, attribute: &[u8]) -> Option<()> {
        let kind = expect(attribute, OBJECT_IDENTIFIER)?;
        let value = next(kind.rest)?;
        let is_text = matches!(value.tag, UTF8_STRING | PRINTABLE_STRING | IA5_STRING);
        let text = || Some(str::from_utf8(value.content).ok().filter(|_| is_text)?.to_owned());
        match kind.content {
            COMMON_NAME => self.common_name = text()?,
            ORGANIZATION => self.organizations.push(text()?),
            _ => {}
        }
        Some(())
    }
}

fn expect(bytes: &[u8], tag: u8) -> Option<Value<'_>> {
    next(bytes).filter(|value| value.tag == tag)
}

fn next(bytes: &[u8]) -> Option<Value<'_>> {
    let [tag, length, rest @ ..] = bytes else { return None };
    let (length, rest) = match length {
        0..=0x7f => (usize::from(*length), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(length - 0x80))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some(Value { tag: *tag, content, rest })
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair};

    use super::*;

    fn certificate(names: &[(DnType, &str)]) -> Vec<u8> {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.distinguished_name = rcgen::DistinguishedName::new();
        for (kind, name) in names {
            parameters.distinguished_name.push(kind.clone(), *name);
        }
        parameters.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn name_and_organization_are_read() {
        let names = [
            (DnType::CountryName, "DE"),
            (DnType::OrganizationName, "system:masters"),
            (DnType::CommonName, "front-proxy-client"),
        ];
        let subject = Subject::of(&certificate(&names)).unwrap();
        assert_eq!(subject.common_name, "front-proxy-client");
        assert_eq!(subject.organizations, ["system:masters"]);
        assert_eq!(Subject::of(&certificate(&[])), Some(Subject::default()));
    }

    #[test]
    fn damaged_certificates_have_no_subject_or_another() {
        let whole = certificate(&[(DnType::CommonName, "x")]);
        for length in 0..whole.len() {
            assert_eq!(Subject::of(&whole[..length]), None, "{length}");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0xff;
            let _ = Subject::of(&damaged);
        }
    }
}

//! Attributes of netlink messages as bytes (linux/netlink.h), written and read.

const NLA_F_NESTED: u16 = 0x8000;

/// Attributes of a netlink message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes(Vec<u8>);

impl Attributes {
    /// A zero-terminated text.
    pub(crate) fn text(self, kind: u16, text: &str) -> Self {
        let mut value = text.as_bytes().to_vec();
        value.push(0);
        self.bytes(kind, &value)
    }

    /// A number in network order.
    pub(crate) fn number(self, kind: u16, number: u32) -> Self {
        self.bytes(kind, &number.to_be_bytes())
    }

    /// Attributes in an attribute.
    pub(crate) fn nested(self, kind: u16, inner: &Self) -> Self {
        self.bytes(kind | NLA_F_NESTED, &inner.0)
    }

    /// Bytes as they are.
    pub(crate) fn bytes(mut self, kind: u16, value: &[u8]) -> Self {
        let length = u16::try_from(value.len() + 4).unwrap_or(u16::MAX);
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether what the kernel says of an object holds all of these, in whatever order and among whatever else.
    pub(crate) fn are_in(&self, found: &[u8]) -> bool {
        are_in(&self.0, found)
    }
}

fn are_in(wanted: &[u8], found: &[u8]) -> bool {
    attributes(wanted).all(|(kind, value)| match attribute(found, kind & !NLA_F_NESTED) {
        Some(there) if kind & NLA_F_NESTED != 0 => are_in(value, there),
        Some(there) => there == value,
        None => false,
    })
}

/// Attributes with their kinds, as far as they are well-formed.
pub(crate) fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (length, after) = read_u16(rest)?;
        let (kind, _) = read_u16(after)?;
        let value = rest.get(4..usize::from(length))?;
        rest = rest.get(usize::from(length).next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// The value of the first attribute of a kind.
pub(crate) fn attribute(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(kind, _)| kind & !NLA_F_NESTED == wanted).map(|(_, value)| value)
}

/// The zero-terminated text in the first attribute of a kind.
pub(crate) fn text_attribute(bytes: &[u8], wanted: u16) -> Option<String> {
    let text = attribute(bytes, wanted)?.split(|byte| *byte == 0).next().unwrap_or_default();
    std::str::from_utf8(text).ok().map(str::to_owned)
}

pub(super) fn read_u16(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u16::from_ne_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_and_read_back() {
        let attributes = Attributes::default().number(2, 7).text(3, "antrea");
        assert_eq!(attributes.0.len(), 8 + 12);
        assert_eq!(text_attribute(&attributes.0, 3).as_deref(), Some("antrea"));
        assert_eq!(text_attribute(&attributes.0, 4), None);
    }

    #[test]
    fn malformed_attributes_end_the_search() {
        for bytes in [&[0_u8][..], &[200, 0, 3, 0, 1], &[3, 0, 3, 0]] {
            assert_eq!(text_attribute(bytes, 3), None);
        }
    }

    #[test]
    fn attributes_are_found_in_another_order_and_among_others() {
        let inner = || Attributes::default().number(1, 7).text(2, "antrea");
        let wanted = Attributes::default().number(1, 1).nested(2, &inner());
        let found = |inner: Attributes, two| Attributes::default().bytes(2, &inner.0).number(1, two).0;
        assert!(wanted.are_in(&found(inner().number(3, 9), 1)));
        assert!(!wanted.are_in(&found(inner(), 2)));
        assert!(!wanted.are_in(&found(Attributes::default().number(1, 7), 1)));
        assert!(!wanted.are_in(&[]));
    }
}

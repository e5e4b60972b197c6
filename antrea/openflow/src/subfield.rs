//! A range of bits in a field, such as `NXM_NX_REG0[0..3]`.

use std::fmt;

use crate::Field;
use crate::field::low_bits;

/// `bits` bits of `field`, from bit `offset` (0 is the least significant).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubField {
    field: Field,
    offset: u16,
    bits: u16,
}

impl SubField {
    /// Bits `first` to `last` of `field`, both included, as `ovs-ofctl` writes ranges.
    ///
    /// # Panics
    /// If the field is not that wide or `last` is before `first`. Made for constants, where that ends the compilation;
    /// input comes through [`SubField::try_new`].
    #[allow(clippy::panic, reason = "evaluated in constants")]
    pub const fn new(field: Field, first: u16, last: u16) -> Self {
        match Self::try_new(field, first, last) {
            Some(subfield) => subfield,
            None => panic!("the field has no such bits"),
        }
    }

    /// Bits `first` to `last` of `field`, both included; none if it has no such bits.
    pub const fn try_new(field: Field, first: u16, last: u16) -> Option<Self> {
        if first > last || last >= field.bits() {
            return None;
        }
        Some(Self { field, offset: first, bits: last - first + 1 })
    }

    /// One bit.
    ///
    /// # Panics
    /// If the field is not that wide; see [`SubField::new`].
    pub const fn bit(field: Field, bit: u16) -> Self {
        Self::new(field, bit, bit)
    }

    /// The whole field.
    pub const fn whole(field: Field) -> Self {
        Self { field, offset: 0, bits: field.bits() }
    }

    /// The field.
    pub const fn field(self) -> Field {
        self.field
    }

    /// The least significant bit of the range.
    pub const fn offset(self) -> u16 {
        self.offset
    }

    /// The width of the range.
    pub const fn bits(self) -> u16 {
        self.bits
    }

    /// The mask of the range, in place.
    pub const fn mask(self) -> u128 {
        low_bits(self.bits) << self.offset
    }

    /// `value` in place; bits beyond the range are cut off.
    pub const fn place(self, value: u128) -> u128 {
        (value & low_bits(self.bits)) << self.offset
    }

    /// What the range holds in a `value` of the field.
    pub const fn extract(self, value: u128) -> u128 {
        (value >> self.offset) & low_bits(self.bits)
    }

    /// Whether it is all of its field.
    pub const fn is_whole(self) -> bool {
        self.offset == 0 && self.bits == self.field.bits()
    }
}

impl From<Field> for SubField {
    fn from(field: Field) -> Self {
        Self::whole(field)
    }
}

impl fmt::Display for SubField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, first, last) = (self.field.nxm_name(), self.offset, self.offset + self.bits - 1);
        match self.bits {
            _ if self.is_whole() => write!(f, "{name}[]"),
            1 => write!(f, "{name}[{first}]"),
            _ => write!(f, "{name}[{first}..{last}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_print_as_ovs_does() {
        let text = |subfield: SubField| subfield.to_string();
        assert_eq!(text(SubField::new(Field::Reg0, 0, 3)), "NXM_NX_REG0[0..3]");
        assert_eq!(text(SubField::bit(Field::Reg0, 9)), "NXM_NX_REG0[9]");
        assert_eq!(text(SubField::whole(Field::EthSrc)), "NXM_OF_ETH_SRC[]");
    }

    #[test]
    fn values_are_put_in_place_and_taken_out() {
        let range = SubField::new(Field::Reg4, 16, 18);
        assert_eq!((range.place(2), range.mask()), (0x20000, 0x70000));
        assert_eq!(range.extract(0x2_192b), 2);
    }

    #[test]
    fn bits_a_field_does_not_have_are_refused() {
        assert_eq!(SubField::try_new(Field::Reg0, 30, 32), None);
        assert_eq!(SubField::try_new(Field::Reg0, 3, 2), None);
    }
}

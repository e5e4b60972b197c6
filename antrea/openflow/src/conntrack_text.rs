//! Text of `ct` and its translation.

use std::fmt;

use crate::action_text::write_actions;
use crate::arguments::Arguments;
use crate::names::Names;
use crate::{AddressRange, CtCommit, CtLookup, Existing, Helper, Nat, NatChoice, NatSide, Translate, Zone};

fn write_zone(arguments: &mut Arguments<'_, '_>, zone: Zone) -> fmt::Result {
    match zone {
        Zone::Number(number) => arguments.number_if_set("zone", number),
        Zone::Field(field) => arguments.add(|f| write!(f, "zone={field}")),
    }
}

pub(crate) fn write_lookup(f: &mut fmt::Formatter<'_>, lookup: &CtLookup, names: &dyn Names) -> fmt::Result {
    f.write_str("ct(")?;
    let mut arguments = Arguments::new(f);
    arguments.table(lookup.table, names)?;
    write_zone(&mut arguments, lookup.zone)?;
    arguments.word_if(lookup.translate == Translate::AsCommitted, "nat")?;
    f.write_str(")")
}

pub(crate) fn write_commit(f: &mut fmt::Formatter<'_>, commit: &CtCommit, names: &dyn Names) -> fmt::Result {
    f.write_str("ct(")?;
    let mut arguments = Arguments::new(f);
    arguments.word_if(true, "commit")?;
    arguments.word_if(commit.existing == Existing::Replace, "force")?;
    arguments.table(commit.table, names)?;
    write_zone(&mut arguments, commit.zone)?;
    if let Some(nat) = &commit.nat {
        arguments.add(|f| write!(f, "{nat}"))?;
    }
    if !commit.exec.is_empty() {
        arguments.add(|f| {
            f.write_str("exec(")?;
            write_actions(f, &commit.exec, names)?;
            f.write_str(")")
        })?;
    }
    match commit.helper {
        Some(Helper::Ftp) => arguments.add(|f| f.write_str("alg=ftp"))?,
        Some(Helper::Tftp) => arguments.add(|f| f.write_str("alg=tftp"))?,
        None => {}
    }
    f.write_str(")")
}

impl fmt::Display for Nat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.side {
            NatSide::Source => "nat(src=",
            NatSide::Destination => "nat(dst=",
        })?;
        match self.addresses {
            AddressRange::V4(first, last) => write_range(f, &first, &last)?,
            AddressRange::V6(first, last) if self.ports.is_none() => write_range(f, &first, &last)?,
            AddressRange::V6(first, last) => write_range(f, &format!("[{first}]"), &format!("[{last}]"))?,
        }
        if let Some((first, last)) = self.ports {
            f.write_str(":")?;
            write_range(f, &first, &last)?;
        }
        let choices = [
            (NatChoice::PERSISTENT, ",persistent"),
            (NatChoice::HASH, ",hash"),
            (NatChoice::RANDOM, ",random"),
        ];
        choices
            .iter()
            .filter(|(choice, _)| self.choice.has(*choice))
            .try_for_each(|(_, word)| f.write_str(word))?;
        f.write_str(")")
    }
}

fn write_range<T: fmt::Display + PartialEq>(f: &mut fmt::Formatter<'_>, first: &T, last: &T) -> fmt::Result {
    if first == last { write!(f, "{first}") } else { write!(f, "{first}-{last}") }
}

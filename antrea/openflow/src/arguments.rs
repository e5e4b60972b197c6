//! Arguments of actions in text: `ct(commit,table=5,zone=1)`.

use std::fmt;

use crate::TableId;
use crate::names::{Names, write_table};

/// What stands in the brackets, with commas between.
pub(crate) struct Arguments<'a, 'b> {
    f: &'a mut fmt::Formatter<'b>,
    empty: bool,
}

impl<'a, 'b> Arguments<'a, 'b> {
    pub(crate) fn new(f: &'a mut fmt::Formatter<'b>) -> Self {
        Self { f, empty: true }
    }

    pub(crate) fn add(&mut self, write: impl FnOnce(&mut fmt::Formatter<'_>) -> fmt::Result) -> fmt::Result {
        if !std::mem::replace(&mut self.empty, false) {
            self.f.write_str(",")?;
        }
        write(self.f)
    }

    pub(crate) fn word_if(&mut self, present: bool, word: &str) -> fmt::Result {
        if present { self.add(|f| f.write_str(word)) } else { Ok(()) }
    }

    pub(crate) fn number_if_set(&mut self, key: &str, number: u16) -> fmt::Result {
        if number == 0 { Ok(()) } else { self.add(|f| write!(f, "{key}={number}")) }
    }

    pub(crate) fn table(&mut self, table: Option<TableId>, names: &dyn Names) -> fmt::Result {
        let Some(table) = table else { return Ok(()) };
        self.add(|f| {
            f.write_str("table=")?;
            write_table(f, table, names)
        })
    }
}

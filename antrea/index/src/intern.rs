//! Equal things once: label pairs, label sets, selectors and lists of ports are stored once and known by a number.

pub(crate) mod few;
pub(crate) mod lists;
pub(crate) mod names;
pub(crate) mod pool;
pub(crate) mod selectors;
pub(crate) mod vocabulary;

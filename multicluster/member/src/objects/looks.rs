//! How many objects are looked at. That is what takes time in large clusters, and what tests count instead of it.

#[cfg(test)]
thread_local! {
    static LOOKS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// An object, or an entry of an index, is looked at.
pub(super) fn look() {
    #[cfg(test)]
    LOOKS.set(LOOKS.get() + 1);
}

/// How many `what` looks at.
#[cfg(test)]
pub(crate) fn looks(what: impl FnOnce()) -> usize {
    let before = LOOKS.get();
    what();
    LOOKS.get() - before
}

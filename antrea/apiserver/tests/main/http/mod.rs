//! The API over TLS, as its clients see it.

mod access;
mod answers;
mod documents;
mod own_node;
mod running;
mod watches;

//! Bytes of the values: each file has the encoder and the decoder of one thing.
//!
//! Decoders take any bytes: they never panic, and never allocate more than a small multiple of what they are given.

pub(crate) mod actions;
pub(crate) mod conntrack;
pub(crate) mod controller;
pub(crate) mod error;
pub(crate) mod flow;
pub(crate) mod group;
pub(crate) mod instructions;
pub(crate) mod learn;
pub(crate) mod meter;
pub(crate) mod oxm;
pub(crate) mod property;
pub(crate) mod reader;
pub(crate) mod writer;

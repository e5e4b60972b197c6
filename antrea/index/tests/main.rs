//! Tests of the index from outside: objects in, updates out.

mod bad_input;
mod conversion;
mod membership;
mod mirror;
mod property;
mod query;
mod recorded;
mod reset;
mod spans;
mod work;
mod world;

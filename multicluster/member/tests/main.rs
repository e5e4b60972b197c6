//! Objects in, actions out: what a member decides, as an operator would see it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends at the first surprise")]

mod connections;
mod export_names;
mod exported;
mod exports;
mod families;
mod full_lists;
mod gateways;
mod handovers;
mod home;
mod imports;
mod labels;
mod limits;
mod not_imported;
mod objects;
mod policies;
mod renewals;
mod slices;
mod takeover;
mod told_exporters;
mod withdrawals;

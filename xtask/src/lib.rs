//! What commands of `cargo xtask` share: the products as this checkout builds them, and labs of their own.

pub mod crates;
pub mod image;
pub mod own_lab;
pub mod product;
pub mod project;

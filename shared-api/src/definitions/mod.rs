//! CustomResourceDefinitions of the kinds, made of the types: the charts get them from here.

mod builder;
mod multicluster;
mod structural;

pub use multicluster::multicluster;

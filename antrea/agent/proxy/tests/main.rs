//! AntreaProxy without a switch: objects as users apply them in, what the switch gets out.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod cluster;
mod conflicts;
mod endpoints;
mod external;
mod groups;
mod ignored;
mod nested;
mod other_clusters;
mod udp;

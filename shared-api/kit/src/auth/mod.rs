//! Who asks, and whether they may: the API server of the cluster decides both, as it does for itself. What it said is
//! remembered for seconds; while it is away nobody new is let in.

mod authentication;
mod authorization;
mod guard;
mod identity;
mod loopback;
mod remembered;

pub use authentication::{Authenticator, Unauthenticated};
pub use authorization::{Authorizer, Undecided, Verdict};
pub use guard::{Guard, PUBLIC_PATHS};
pub use identity::{Identity, User};
pub use loopback::{LoopbackToken, TokenFileError};
pub use remembered::Lifetimes;

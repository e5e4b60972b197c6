//! Who asks, and whether they may: the API server of the cluster decides both, as it does for itself. What it said is
//! remembered for seconds; while it is away nobody new is let in.

mod action;
mod audience;
mod authentication;
mod authorization;
mod client_certificate;
mod decision;
mod front_proxy;
mod guard;
mod holder;
mod identity;
mod loopback;
mod nodes_in_tokens;
mod remembered;
mod renewals;
mod signing_keys;
mod subject;
mod turns;

pub use action::{Action, ResourceAction};
pub use authentication::{Authenticator, Unauthenticated};
pub use authorization::{Authorizer, Undecided, Verdict};
pub(crate) use client_certificate::AnyClientCertificate;
pub use client_certificate::ClientCertificates;
pub use front_proxy::{CertificateTrust, Owner};
pub use guard::{Admission, COME_AGAIN, Guard, PUBLIC_PATHS, Refusal};
pub use holder::Holder;
pub use identity::{Identity, NODE_NAME, SERVICE_ACCOUNT, User};
pub(crate) use loopback::TokenHash;
pub use loopback::{LoopbackToken, TokenFileError, admit_own_pod};
pub use nodes_in_tokens::NodesInTokens;
pub use remembered::Lifetimes;
pub(crate) use renewals::Renewals;
pub use subject::Subject;
pub use turns::Busy;

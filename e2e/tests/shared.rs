//! Something that tests share, one after the other: it lasts while they pass.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};

use antrea_e2e::cleanup;
use antrea_e2e::install::Product;
use antrea_e2e::lab::Lab;
use antrea_e2e::plan::Request;
use antrea_e2e::scenario::{run_or_dump, up_or_dump};
use anyhow::{Context, Result};

/// What tests share has a lab.
pub(crate) trait OnALab {
    fn lab(&self) -> &Lab;
}

/// Takes down what is shared.
type Down = fn() -> Result<()>;

/// What would be in the way of others, if there is such a thing.
static IN_THE_WAY: Mutex<Option<Down>> = Mutex::new(None);

/// `down` is to be called before others use what they share: idle clusters slow what follows.
pub(crate) fn goes_before_others(down: Down) {
    *IN_THE_WAY.lock().unwrap_or_else(PoisonError::into_inner) = Some(down);
}

/// Nothing is in the way any more, so that it is not taken down.
pub(crate) fn stays() {
    *IN_THE_WAY.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Runs `test` with what is shared, made when there is none. When it fails, the lab's state is printed and the lab is
/// taken down: the next test gets a new one. The last one goes with this process.
pub(crate) fn with<S: OnALab>(
    shared: &Mutex<Option<S>>,
    make: impl FnOnce() -> Result<S>,
    test: impl FnOnce(&S) -> Result<()>,
) -> Result<()> {
    let others = IN_THE_WAY.lock().unwrap_or_else(PoisonError::into_inner).take();
    others.map_or(Ok(()), |down| down())?;
    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let stage = shared.take().map_or_else(make, Ok)?;
    let outcome = catch_unwind(AssertUnwindSafe(|| run_or_dump(stage.lab(), |_| test(&stage))));
    if matches!(outcome, Ok(Ok(()))) {
        *shared = Some(stage);
        return Ok(());
    }
    let down = stage.lab().down();
    match outcome {
        Ok(result) => result.and(down),
        Err(cause) => resume_unwind(cause),
    }
}

/// Brings a lab up and prepares it for tests; when that fails, prints its state and takes it down.
pub(crate) fn make<S>(
    request: &Request,
    product: &Product,
    prepare: impl FnOnce(&Lab) -> Result<S>,
) -> Result<(Lab, S)> {
    let made = up_or_dump(request, product).and_then(|lab| {
        let mut made = None;
        run_or_dump(&lab, |lab| prepare(lab).map(|prepared| made = Some(prepared)))?;
        Ok((lab, made.context("nothing was made")?))
    });
    if made.is_err() {
        cleanup::remove(&request.name)?;
    }
    made
}

//! The file of the database: made, converted, or put aside where no ovsdb-server could read it. The agent plugs Pods in
//! again that a new database does not know, and a Node without one would connect nobody.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tracing::{error, info};

use super::output_of;

const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";

/// How many of the files that could not be read are kept.
const KEPT: usize = 3;

/// What is wrong where the database cannot be prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// What is in it: it will not get better.
    Content,
    /// What is around it: no room, no right, somebody else has it.
    Surroundings,
}

/// Creates the database, or converts one that another version of Open vSwitch wrote. One that cannot be read is put aside,
/// and a new one made.
pub(super) async fn prepare(run_dir: &Path) -> Result<PathBuf> {
    tokio::fs::create_dir_all(run_dir)
        .await
        .with_context(|| format!("cannot create {}", run_dir.display()))?;
    let database = run_dir.join("conf.db");
    if tokio::fs::try_exists(&database).await? {
        match convert(&database).await {
            Err(error) if fault(&format!("{error:#}")) == Fault::Content => {
                let aside = put_aside(&database).await?;
                error!(
                    error = format!("{error:#}"),
                    aside = %aside.display(),
                    "The database of Open vSwitch cannot be read: it is put aside, and a new one made"
                );
            }
            outcome => return outcome.map(|()| database),
        }
    }
    create(&database).await?;
    Ok(database)
}

/// Under another name until it is one: where there is no room, ovsdb-tool leaves an empty file, and the next start would put
/// that aside in place of what was put aside before.
async fn create(database: &Path) -> Result<()> {
    let unfinished = database.with_extension("db.new");
    match tokio::fs::remove_file(&unfinished).await {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot remove {}", unfinished.display()));
        }
        Ok(()) | Err(_) => {}
    }
    tool("create", &unfinished).await?;
    rename(&unfinished, database).await
}

async fn convert(database: &Path) -> Result<()> {
    if tool("needs-conversion", database).await?.trim() == "yes" {
        tool("convert", database).await?;
        info!(database = %database.display(), "The database was converted to the schema of this Open vSwitch");
    }
    Ok(())
}

async fn tool(command: &str, database: &Path) -> Result<String> {
    output_of("ovsdb-tool", &[command, &database.to_string_lossy(), SCHEMA]).await
}

/// By what ovsdb-tool says: `I/O error` is also what it calls a file that ends too early.
fn fault(message: &str) -> Fault {
    let of_content =
        ["ovsdb error:", "syntax error:", "constraint violation:", "integrity violation:", "(End of file)"];
    match of_content.iter().any(|text| message.contains(text)) {
        true => Fault::Content,
        false => Fault::Surroundings,
    }
}

/// Renames the file, and those that were put aside before it; the oldest of these goes.
async fn put_aside(database: &Path) -> Result<PathBuf> {
    let aside = |number: usize| database.with_extension(format!("db.unreadable.{number}"));
    for number in (1..KEPT).rev() {
        rename(&aside(number), &aside(number + 1)).await?;
    }
    rename(database, &aside(1)).await?;
    Ok(aside(1))
}

async fn rename(from: &Path, to: &Path) -> Result<()> {
    match tokio::fs::rename(from, to).await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome.with_context(|| format!("cannot rename {} to {}", from.display(), to.display())),
    }
}

#[cfg(test)]
mod tests;

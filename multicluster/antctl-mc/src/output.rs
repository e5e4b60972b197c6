//! How answers are printed, as upstream prints them: tables with columns as wide as their widest cell, JSON, YAML; and
//! how they are saved to files.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::ValueEnum;
use jiff::Timestamp;
use serde::Serialize;

/// What `-o` asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Table,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// Where the kernel has the files that a process has opened.
const STREAMS: [&str; 4] = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"];

/// What stands in a cell where there is nothing.
const NONE: &str = "<NONE>";

/// A table with its rows in the order of their cells.
pub(crate) fn table<const N: usize>(header: [&str; N], mut rows: Vec<[String; N]>) -> String {
    rows.sort();
    let filled = |cell: String| if cell.is_empty() { NONE.to_owned() } else { cell };
    let rows: Vec<[String; N]> = std::iter::once(header.map(str::to_owned))
        .chain(rows.into_iter().map(|row| row.map(filled)))
        .collect();
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let line = |row: &[String; N]| {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join(" ") + "\n"
    };
    rows.iter().map(line).collect()
}

pub(crate) fn json(answer: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(answer).context("the answer cannot be written as JSON")?;
    Ok(text + "\n")
}

pub(crate) fn yaml(answer: &impl Serialize) -> Result<String> {
    let mut options = serde_saphyr::SerializerOptions::default();
    options.folded_wrap_chars = usize::MAX;
    serde_saphyr::to_string_with_options(answer, options).context("the answer cannot be written as YAML")
}

/// Saves what only the user may read. Whatever had the name before is replaced, a link too, and is not written to.
pub(crate) fn save(path: &Path, text: &str) -> Result<()> {
    let saved = if is_stream(path) {
        OpenOptions::new().append(true).open(path).and_then(|mut stream| stream.write_all(text.as_bytes()))
    } else {
        replace(path, text)
    };
    saved.with_context(|| format!("cannot write {}", path.display()))
}

/// Whether it is a device, or has been opened for this process. Without rights nobody puts either in the place of a file,
/// as they might a link or a pipe.
fn is_stream(path: &Path) -> bool {
    let is_device = path.symlink_metadata().is_ok_and(|there| there.file_type().is_char_device());
    is_device || STREAMS.iter().any(|stream| path.starts_with(stream))
}

/// What cannot be saved as a whole leaves nothing behind.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let new = beside(path)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    let replaced = written.and_then(|()| fs::rename(&new, path));
    if replaced.is_err() {
        // The error that is told is the first one.
        let _ = fs::remove_file(&new);
    }
    replaced
}

/// A name in the same folder that nothing has.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(ErrorKind::InvalidFilename)?;
    let moment = Timestamp::now().as_nanosecond();
    Ok(path.with_file_name(format!(".{}.{moment:x}", name.display())))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned);
        let text = table(["NAME", "IP"], vec![row(["long-name", "10.0.0.1"]), row(["a", ""])]);
        assert_eq!(text, "NAME      IP      \na         <NONE>  \nlong-name 10.0.0.1\n");
    }

    #[test]
    fn long_text_stays_on_its_line() {
        let token = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ".repeat(40);
        let text =
            yaml(&[("token", token.clone())].into_iter().collect::<std::collections::BTreeMap<_, _>>());
        assert_eq!(text.unwrap(), format!("token: {token}\n"));
    }

    #[test]
    fn what_is_saved_to_a_stream_comes_after_what_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("redirected");
        fs::write(&path, "before ").unwrap();
        let file = fs::File::open(&path).unwrap();
        save(Path::new(&format!("/dev/fd/{}", file.as_raw_fd())), "after").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "before after");
    }
}

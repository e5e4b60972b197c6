//! Pages of the documentation do what they say: their blocks marked `sh` are run as one script, from top to bottom.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use antrea_e2e::cleanup;
use antrea_e2e::dump;
use antrea_e2e::lab::Lab;
use antrea_e2e::names::LabName;
use antrea_e2e::plan::Install;
use antrea_e2e::scenario::{Extent, Part, is_wanted, request};
use anyhow::{Context, Result, ensure};

/// The name that a page gives its lab; the test gives it one of its own.
const NAME_ON_THE_PAGE: &str = "--name guide";

/// A block of the page, and what its output has to contain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Block {
    line: usize,
    commands: String,
    expected: Vec<String>,
}

#[test]
fn the_getting_started_page_works() {
    check("the_getting_started_page_works", Extent::Standard, "docs/getting-started.md");
}

#[test]
fn the_quick_start_of_multicluster_works() {
    check(
        "the_quick_start_of_multicluster_works",
        Extent::Long(Part::One),
        "docs/multicluster/quick-start.md",
    );
}

/// Follows a page in a lab of its own, which the page removes.
fn check(name: &str, extent: Extent, page: &str) {
    if is_wanted(name, extent) {
        let lab = request(Install::Antrea).name;
        let result = follow(page, &lab);
        if result.is_err()
            && let Ok(lab) = Lab::open(&lab)
        {
            dump::print(&lab);
        }
        let removed = cleanup::remove(&lab);
        assert!(result.is_ok(), "{name}: {:?}", result.err());
        assert_eq!(removed.ok(), Some(0), "the page does not remove its lab");
    }
}

fn follow(page: &str, lab: &LabName) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = fs::read_to_string(root.join(page)).with_context(|| format!("{page} cannot be read"))?;
    ensure!(page.contains(NAME_ON_THE_PAGE), "the page names its lab otherwise than {NAME_ON_THE_PAGE:?}");
    let blocks = blocks(&page.replace(NAME_ON_THE_PAGE, &format!("--name {lab}")));
    ensure!(!blocks.is_empty(), "the page has no commands");
    let output = run(&root, &script(&blocks))?;
    for (index, block) in blocks.iter().enumerate() {
        let printed = between(&output, &marker(index), &marker(index + 1));
        for text in &block.expected {
            ensure!(printed.contains(text), "line {}: {text:?} is not in:\n{printed}", block.line);
        }
    }
    Ok(())
}

fn script(blocks: &[Block]) -> String {
    let mut text = String::from("set -euo pipefail\n");
    for (index, block) in blocks.iter().enumerate() {
        text += &format!("echo '{}'\n{}", marker(index), block.commands);
    }
    text + &format!("echo '{}'\n", marker(blocks.len()))
}

/// Both outputs in one file, in the order in which they came.
fn run(root: &Path, script: &str) -> Result<String> {
    let path: PathBuf = std::env::temp_dir().join(format!("antrea-page-{}", std::process::id()));
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut command = Command::new("bash");
    command.args(["-c", script]).current_dir(root).env("NO_PROXY", "*").stdin(Stdio::null());
    let status = command.stdout(file.try_clone()?).stderr(file).status().context("bash cannot be run")?;
    let output = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    ensure!(status.success(), "the page's commands end with {status}:\n{output}");
    Ok(output)
}

fn marker(index: usize) -> String {
    format!("=== block {index} ===")
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let after = text.split_once(start).map_or("", |(_, after)| after);
    after.split_once(end).map_or(after, |(block, _)| block)
}

/// The blocks marked `sh`, and the comments `expect: TEXT` that follow them.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in page.lines().enumerate() {
        match (&mut open, line) {
            (None, "```sh") => open = Some(Block { line: index + 1, ..Block::default() }),
            (Some(_), "```") => blocks.extend(open.take()),
            (Some(block), line) => {
                block.commands += line;
                block.commands.push('\n');
            }
            (None, line) => {
                let expected = line.strip_prefix("<!-- expect: ").and_then(|rest| rest.strip_suffix(" -->"));
                if let (Some(expected), Some(block)) = (expected, blocks.last_mut()) {
                    block.expected.push(expected.to_owned());
                }
            }
        }
    }
    blocks
}

#[test]
fn only_blocks_marked_sh_are_run() {
    let page = "a\n```console\n# rm\n```\n```sh\none\ntwo\n```\n<!-- expect: 1 -->\n<!-- expect: 2 -->\n";
    let expected = Block { line: 5, commands: "one\ntwo\n".into(), expected: vec!["1".into(), "2".into()] };
    assert_eq!(blocks(page), [expected]);
}

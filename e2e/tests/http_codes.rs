//! Many questions to one server in a single run of curl, and the status codes that came back.

use anyhow::{Result, ensure};

/// Words for curl, which prints a code for each URL. `words` are those of every question.
pub(crate) fn curl(words: &[&str], token: Option<&str>, urls: &[String]) -> Vec<String> {
    let first = ["curl", "-gsk", "--max-time", "10", "-w", "%{http_code}\\n"];
    let header = token.map(|token| ["-H".to_owned(), format!("Authorization: Bearer {token}")]);
    let urls = urls.iter().flat_map(|url| ["-o", "/dev/null", url.as_str()]);
    let all = first.iter().chain(words).map(|word| (*word).to_owned());
    all.chain(header.into_iter().flatten()).chain(urls.map(str::to_owned)).collect()
}

/// Each of these questions was answered with this code.
pub(crate) fn ensure_each_is(wanted: &str, printed: &str, urls: &[String]) -> Result<()> {
    let codes: Vec<&str> = printed.split_whitespace().collect();
    ensure!(codes.len() == urls.len(), "{} answers to {} questions", codes.len(), urls.len());
    for (url, code) in urls.iter().zip(codes) {
        ensure!(code == wanted, "{url} was answered with {code}, not {wanted}");
    }
    Ok(())
}

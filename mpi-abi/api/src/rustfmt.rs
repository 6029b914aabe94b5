//! Formats generated Rust with the tool chain's rustfmt, by the repository's own style.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// `text` as `cargo fmt` would leave it.
pub(crate) fn format(text: &str) -> Result<String> {
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--config", "max_width=100,use_small_heuristics=Max"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("rustfmt is missing; install it with `rustup component add rustfmt`")?;
    let mut input = child.stdin.take().context("rustfmt has no standard input")?;
    let text = text.to_owned();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "rustfmt refused the generated code");
    let _ = writer.join();
    Ok(String::from_utf8(output.stdout)?)
}

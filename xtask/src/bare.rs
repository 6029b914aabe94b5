//! `cargo xtask bare`: do the two commands of the README work on a bare machine?
//!
//! The bare machine is a minimal Debian or Ubuntu (`debootstrap --variant=minbase`) in a folder,
//! entered with chroot, into which only the Rust tool chain and the crates that cargo has already
//! downloaded are mounted, both for reading. It gets a clone of the committed state, and of this
//! machine's settings those alone that say how to reach the package indexes: the authorities it
//! trusts, its proxies, pip's variables. Mounts live in a mount namespace of their own and vanish
//! with it.

use crate::{place, run};
use anyhow::{Context, Result, bail};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Where this machine keeps the certificate authorities that it trusts, and the bare one those.
const AUTHORITIES: [&str; 2] = ["/etc/ssl/certs/ca-certificates.crt", "/etc/authorities.pem"];

/// What runs inside; `$1` is the machine's root (a mount, as every machine's is: what unshares mounts
/// relies on it), `$2` the tool chain, `$3` the crates, `$4` a folder of Python packages or nothing;
/// the rest are settings for the environment.
const ENTER: &str = r#"
set -e
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount -t sysfs -o ro sys "$1/sys"
mount --rbind /dev "$1/dev"
mkdir -p "$1/opt/rust" "$1/root/.cargo/registry"
mount --bind -o ro "$2" "$1/opt/rust"
mount --bind "$3" "$1/root/.cargo/registry"
cp /etc/resolv.conf /etc/hosts "$1/etc/"
if [ -n "$4" ]; then
    mkdir -p "$1$4"
    mount --bind -o ro "$4" "$1$4"
fi
machine=$1
shift 4
exec chroot "$machine" /usr/bin/env -i CI=true HOME=/root CARGO_NET_OFFLINE=true "$@" \
    PATH=/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    sh -c 'cd /root/ferrite && cargo xtask demo && cargo xtask test'
"#;

/// Makes the bare machine and runs both commands in it.
pub(crate) fn bare() -> Result<()> {
    if run::output(run::command("id").arg("-u")).is_none_or(|id| id.trim() != "0") {
        bail!("debootstrap, mount and chroot need root; run it as root");
    }
    if run::which("debootstrap").is_none() {
        bail!("there is no debootstrap; run: apt-get install debootstrap");
    }
    let machine = place::target().join("bare");
    if machine.exists() {
        fs::remove_dir_all(&machine)
            .with_context(|| format!("cannot clear {}", machine.display()))?;
    }
    run::must(run::command("debootstrap").args(["--variant=minbase", &codename()?]).arg(&machine))?;
    let clone = machine.join("root/ferrite");
    run::must(run::command("git").args(["clone", "--quiet", "--no-hardlinks", "."]).arg(&clone))?;
    run::must(run::cargo().args(["fetch", "--locked"]))?;
    let mut enter = run::command("unshare");
    enter.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "bare"]);
    enter.arg(&machine).arg(tool_chain()?).arg(crates()?).arg(python_packages());
    enter.args(ways_to_packages(&machine)?);
    enter.stdin(std::process::Stdio::null());
    println!("$ cargo xtask demo && cargo xtask test   (in {})", place::shown(&machine));
    if !enter.status().context("cannot start unshare")?.success() {
        bail!("on a bare machine the commands of the README fail; what they said is above");
    }
    println!("on a bare machine both commands of the README succeed");
    Ok(())
}

/// The release of this machine; the bare one is of the same.
fn codename() -> Result<String> {
    let text = fs::read_to_string("/etc/os-release").context("cannot read /etc/os-release")?;
    let name = text.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    Ok(name.context("/etc/os-release names no VERSION_CODENAME")?.trim_matches('"').to_string())
}

/// The folder in which this machine's pip looks for packages besides its index, if there is one.
fn python_packages() -> String {
    env::var("PIP_FIND_LINKS").ok().filter(|links| Path::new(links).is_dir()).unwrap_or_default()
}

/// The settings, as `NAME=value`, by which package indexes are reached from this machine.
fn ways_to_packages(machine: &Path) -> Result<Vec<String>> {
    let is_way = |name: &str| name.starts_with("PIP_") || name.to_lowercase().ends_with("_proxy");
    let mut ways: Vec<String> = env::vars()
        .filter(|(name, _)| is_way(name) && name != "PIP_CERT")
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let [here, there] = AUTHORITIES;
    if Path::new(here).exists() {
        fs::copy(here, machine.join(there.trim_start_matches('/')))
            .with_context(|| format!("cannot copy {here}"))?;
        let readers = ["SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE"];
        ways.extend(readers.map(|name| format!("{name}={there}")));
    }
    Ok(ways)
}

fn tool_chain() -> Result<PathBuf> {
    let root = run::output(run::command("rustc").args(["--print", "sysroot"]));
    Ok(PathBuf::from(root.context("rustc does not say where it lies")?.trim()))
}

fn crates() -> Result<PathBuf> {
    let home = match env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => Path::new(&env::var_os("HOME").context("HOME is not set")?).join(".cargo"),
    };
    Ok(home.join("registry"))
}

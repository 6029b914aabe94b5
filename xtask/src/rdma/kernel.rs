//! A Linux kernel with soft-RoCE and netem, for the emulated host.
//!
//! Enters: the distribution's packages, by apt-get. Leaves: `target/rdma/kernel` with the kernel and the
//! modules that the host loads, in the order of loading; and packed with the first program, the initial
//! file system.

use crate::{place, run};
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the emulated host loads, with what each of these needs. A module that is built in, or that this
/// kernel does not have, is passed over: what is missing shows when it is used.
const MODULES: &[&str] = &[
    "virtio_pci",
    "virtio_net",
    "9pnet_virtio",
    "9p",
    "overlay",
    "crc32_generic",
    "crc32_pclmul",
    "veth",
    "rdma_rxe",
    "ib_uverbs",
    "rdma_ucm",
    "sch_netem",
];

/// The programs of busybox that the first program uses.
const APPLETS: &[&str] = &["sh", "cat", "insmod", "mkdir", "mount", "poweroff", "switch_root"];

/// How long a download may take before there counts as being no network.
const DOWNLOAD_SECONDS: &str = "100";

/// Packages whose only content is that they need the newest kernel: Debian's and Ubuntu's.
const NEWEST: &[&str] = &["linux-image-amd64", "linux-image-generic"];

/// A kernel, ready to be started.
pub(super) struct Kernel {
    folder: PathBuf,
}

impl Kernel {
    /// The kernel that was fetched before with these modules, or one that is fetched now.
    pub(super) fn fetch() -> Result<Kernel> {
        let folder = place::target().join("rdma/kernel");
        let (asked, modules) = (folder.join("asked"), MODULES.join("\n"));
        if fs::read_to_string(asked).is_ok_and(|asked| asked == modules) {
            return Ok(Kernel { folder });
        }
        println!("fetching a kernel into {}", place::shown(&folder));
        let begun = folder.with_extension("part");
        // What was left when somebody interrupted this.
        let _ = fs::remove_dir_all(&folder);
        if unpack(&begun).is_err() {
            // The lists of packages may be missing or old, and root can renew them.
            run::output(&mut apt(&["update"]));
            unpack(&begun)?;
        }
        fs::write(begun.join("asked"), modules)?;
        fs::rename(&begun, &folder)?;
        Ok(Kernel { folder })
    }

    /// The kernel itself.
    pub(super) fn image(&self) -> PathBuf {
        self.folder.join("vmlinuz")
    }

    /// Packs the first program, busybox and the modules; the file with the initial file system.
    pub(super) fn pack(&self) -> Result<PathBuf> {
        let busybox = run::which("busybox").context("there is no busybox")?;
        let root = self.folder.join("root");
        for folder in ["bin", "proc", "sys", "dev"] {
            fs::create_dir_all(root.join(folder))?;
        }
        fs::copy(busybox, root.join("bin/busybox"))?;
        for applet in APPLETS {
            let link = root.join("bin").join(applet);
            if !link.exists() {
                std::os::unix::fs::symlink("busybox", link)?;
            }
        }
        fs::copy(place::root().join("testsuite/rdma-vm/init"), root.join("init"))?;
        let modules = root.join("modules");
        fs::create_dir_all(&modules)?;
        for entry in fs::read_dir(self.folder.join("modules"))? {
            let entry = entry?;
            fs::copy(entry.path(), modules.join(entry.file_name()))?;
        }
        let packed = self.folder.join("initrd");
        archive(&root, &packed)?;
        Ok(packed)
    }
}

/// Writes a folder as the kernel reads its initial file system.
fn archive(root: &Path, into: &Path) -> Result<()> {
    let names = run::output(Command::new("find").arg(".").current_dir(root))
        .context("find does not list the initial file system")?;
    let mut cpio = Command::new("cpio")
        .args(["--create", "--format=newc", "--quiet", "--owner=0:0"])
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(fs::File::create(into)?)
        .spawn()
        .context("cannot start cpio")?;
    cpio.stdin.take().context("its input is a pipe")?.write_all(names.as_bytes())?;
    if !cpio.wait()?.success() {
        bail!("cpio cannot write {}", place::shown(into));
    }
    Ok(())
}

/// apt-get, which gives up in time.
fn apt(words: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.args([DOWNLOAD_SECONDS, "apt-get", "--quiet", "--quiet"]).args(words);
    command
}

/// Downloads the newest kernel and leaves of it what is needed.
fn unpack(folder: &Path) -> Result<()> {
    let packages = folder.join("packages");
    let whole = folder.join("whole");
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(&packages)?;
    for package in names()? {
        if run::output(apt(&["download", &package]).current_dir(&packages)).is_none() {
            bail!(
                "apt-get cannot download {package}; is there a network, and has `apt-get update` \
                 run lately?"
            );
        }
    }
    for file in fs::read_dir(&packages)? {
        run::output(Command::new("dpkg").arg("--extract").arg(file?.path()).arg(&whole))
            .context("dpkg cannot unpack the kernel's package")?;
    }
    let image = only(&whole.join("boot"), "vmlinuz-")?;
    fs::copy(image, folder.join("vmlinuz"))?;
    modules(&whole, &folder.join("modules"))?;
    fs::remove_dir_all(packages)?;
    Ok(fs::remove_dir_all(whole)?)
}

/// The packages of the newest kernel. Ubuntu has the modules in packages of their own.
fn names() -> Result<Vec<String>> {
    let depends = |package: &str| run::output(Command::new("apt-cache").args(["depends", package]));
    let image = NEWEST.iter().filter_map(|newest| image(&depends(newest)?)).next().context(
        "apt-cache knows neither linux-image-amd64 nor linux-image-generic; the emulated host \
         needs a kernel of Debian or Ubuntu, and apt-get a network to fetch it: try `apt-get update`",
    )?;
    let version = image.trim_start_matches("linux-image-").to_owned();
    let beside = ["modules", "modules-extra"].map(|part| format!("linux-{part}-{version}"));
    let exists = |package: &String| depends(package).is_some_and(|text| !text.trim().is_empty());
    Ok([image].into_iter().chain(beside.into_iter().filter(exists)).collect())
}

/// The kernel that a package needs, from what apt-cache says of it.
fn image(depends: &str) -> Option<String> {
    let needed = |line: &str| Some(line.trim().strip_prefix("Depends:")?.trim().to_owned());
    depends.lines().filter_map(needed).find(|package| package.starts_with("linux-image-"))
}

/// The one file of a folder whose name begins so.
fn only(folder: &Path, begin: &str) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).with_context(|| format!("no {}", folder.display()))?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(begin)))
        .with_context(|| format!("the kernel's package has no {begin}…"))
}

/// Copies the modules, unpacked, and writes the order of loading.
fn modules(whole: &Path, into: &Path) -> Result<()> {
    fs::create_dir_all(into)?;
    if !whole.join("lib").exists() {
        // Where /lib is a link to /usr/lib, packages have only the latter.
        std::os::unix::fs::symlink("usr/lib", whole.join("lib"))?;
    }
    let version = only(&whole.join("lib/modules"), "")?;
    let version = version.file_name().context("a version")?.to_string_lossy().into_owned();
    run::output(Command::new("/sbin/depmod").arg("--basedir").arg(whole).arg(&version))
        .context("depmod cannot read the kernel's modules")?;
    let mut order: Vec<String> = Vec::new();
    for module in MODULES {
        let mut modprobe = Command::new("/sbin/modprobe");
        modprobe.arg("--dirname").arg(whole).args(["--set-version", &version, "--show-depends"]);
        for path in paths(&run::output(modprobe.arg(module)).unwrap_or_default()) {
            let name = bring(Path::new(path), into)?;
            if !order.contains(&name) {
                order.push(name);
            }
        }
    }
    Ok(fs::write(into.join("order"), order.join("\n"))?)
}

/// The files in what `modprobe --show-depends` says.
fn paths(depends: &str) -> impl Iterator<Item = &str> {
    depends.lines().filter_map(|line| line.strip_prefix("insmod ")?.split_whitespace().next())
}

/// Copies one module, unpacked where it is packed; its name.
fn bring(from: &Path, into: &Path) -> Result<String> {
    let name = from.file_name().context("a module's name")?.to_string_lossy().into_owned();
    let (plain, unpacker) = match name.rsplit_once('.') {
        Some((plain, "xz")) => (plain, Some("xz")),
        Some((plain, "zst")) => (plain, Some("zstd")),
        Some((plain, "gz")) => (plain, Some("gzip")),
        _ => (name.as_str(), None),
    };
    let to = into.join(plain);
    let Some(unpacker) = unpacker else {
        fs::copy(from, to)?;
        return Ok(name);
    };
    let mut command = Command::new(unpacker);
    command.args(["--decompress", "--stdout"]).arg(from).stdout(fs::File::create(&to)?);
    let unpacked = command.status().with_context(|| {
        format!("the kernel's modules are packed; install the package that has {unpacker}")
    })?;
    if !unpacked.success() {
        bail!("{unpacker} cannot unpack {}", from.display());
    }
    Ok(plain.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_the_package_that_the_newest_needs() {
        let debian = "linux-image-amd64\n  Depends: linux-image-6.1.0-57-amd64\n";
        assert_eq!(image(debian).as_deref(), Some("linux-image-6.1.0-57-amd64"));
        let ubuntu = "linux-image-generic\n  Depends: linux-firmware\n    amd64-microcode\n  \
                      Depends: linux-image-6.8.0-40-generic\n  Recommends: thermald\n";
        assert_eq!(image(ubuntu).as_deref(), Some("linux-image-6.8.0-40-generic"));
        assert_eq!(image("linux-image-generic\n  Recommends: thermald\n"), None);
    }

    #[test]
    fn modules_are_the_files_of_their_lines() {
        let text = "insmod /k/lib/crc32_generic.ko \nbuiltin virtio_pci\ninsmod /k/9p.ko.xz a=1\n";
        let found: Vec<&str> = paths(text).collect();
        assert_eq!(found, ["/k/lib/crc32_generic.ko", "/k/9p.ko.xz"]);
    }
}

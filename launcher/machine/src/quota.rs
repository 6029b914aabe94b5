//! How much processor time the control groups of this process grant, version 1 and 2.

use std::fs;
use std::path::{Path, PathBuf};

/// How many processors' worth of time a control group grants this process, if one limits it.
pub fn quota() -> Option<usize> {
    least(Path::new("/proc/self/cgroup"), Path::new("/sys/fs/cgroup"))
}

/// The smallest quota on the way from this process's group to the root, in whole processors
/// (rounded up), or `None` when nothing limits it.
fn least(membership: &Path, mount: &Path) -> Option<usize> {
    let membership = fs::read_to_string(membership).ok()?;
    membership.lines().filter_map(|line| line_quota(line, mount)).min()
}

/// The quota behind one line `id:controllers:path` of `/proc/self/cgroup`.
fn line_quota(line: &str, mount: &Path) -> Option<usize> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let path = path.trim_start_matches('/');
    if controllers.is_empty() {
        let roots = [mount.to_path_buf(), mount.join("unified")];
        return roots.iter().filter_map(|root| smallest(root, path, quota_v2)).min();
    }
    if !controllers.split(',').any(|name| name == "cpu") {
        return None;
    }
    let roots = [mount.join(controllers), mount.join("cpu"), mount.join("cpu,cpuacct")];
    roots.iter().filter_map(|root| smallest(root, path, quota_v1)).min()
}

/// The smallest quota of the group at `path` and those above it. Inside a container the path
/// may not exist below the mount; then the mount's own group counts.
fn smallest(root: &Path, path: &str, read: fn(&Path) -> Option<usize>) -> Option<usize> {
    let mut at: PathBuf = root.join(path);
    let mut least = None;
    while at.starts_with(root) {
        least = least.into_iter().chain(read(&at)).min();
        if !at.pop() {
            break;
        }
    }
    least
}

fn quota_v2(group: &Path) -> Option<usize> {
    let text = fs::read_to_string(group.join("cpu.max")).ok()?;
    let mut fields = text.split_whitespace();
    processors(fields.next()?.parse().ok()?, fields.next()?.parse().ok()?)
}

fn quota_v1(group: &Path) -> Option<usize> {
    let number = |file| fs::read_to_string(group.join(file)).ok()?.trim().parse::<i64>().ok();
    let quota = u64::try_from(number("cpu.cfs_quota_us")?).ok()?;
    processors(quota, u64::try_from(number("cpu.cfs_period_us")?).ok()?)
}

fn processors(quota: u64, period: u64) -> Option<usize> {
    (period > 0).then(|| quota.div_ceil(period).max(1) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(root: &Path, path: &str, files: &[(&str, &str)]) {
        fs::create_dir_all(root.join(path)).unwrap();
        for (name, text) in files {
            fs::write(root.join(path).join(name), text).unwrap();
        }
    }

    fn quota_of(membership: &str, root: &Path) -> Option<usize> {
        fs::write(root.join("membership"), membership).unwrap();
        least(&root.join("membership"), root)
    }

    #[test]
    fn version_2_takes_the_tightest_group_above() {
        let root = tempfile::tempdir().unwrap();
        group(root.path(), "jobs", &[("cpu.max", "250000 100000\n")]);
        group(root.path(), "jobs/step", &[("cpu.max", "max 100000\n")]);
        assert_eq!(quota_of("0::/jobs/step\n", root.path()), Some(3));
        assert_eq!(quota_of("0::/elsewhere\n", root.path()), None);
    }

    #[test]
    fn version_1_knows_no_limit_by_minus_one() {
        let root = tempfile::tempdir().unwrap();
        let limit = [("cpu.cfs_quota_us", "100000\n"), ("cpu.cfs_period_us", "100000\n")];
        let none = [("cpu.cfs_quota_us", "-1\n"), ("cpu.cfs_period_us", "100000\n")];
        group(root.path(), "cpu/free", &none);
        group(root.path(), "cpu/box", &limit);
        group(root.path(), "cpu/box/inner", &none);
        assert_eq!(quota_of("4:cpu,cpuacct:/free\n3:memory:/\n", root.path()), None);
        assert_eq!(quota_of("4:cpu:/box/inner\n", root.path()), Some(1));
    }
}

//! What is asked of the kernel, access(2) being in the C library.

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!(
    "the auditor knows the loader and the system calls of x86_64 and aarch64 alone; leave the \
     package launcher-audit out of this build (cargo --exclude launcher-audit), and mpirun will put \
     libraries in front by LD_LIBRARY_PATH alone"
);

/// Whether there is a file that we may read.
///
/// # Safety
/// `path` ends with a zero byte.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn exists(path: *const u8) -> bool {
    const ACCESS: usize = 21;
    const READABLE: usize = 4;
    let result: isize;
    // SAFETY: access reads the path and changes nothing; the kernel overwrites rcx and r11.
    unsafe {
        core::arch::asm!("syscall", inlateout("rax") ACCESS => result, in("rdi") path,
            in("rsi") READABLE, lateout("rcx") _, lateout("r11") _, options(nostack, readonly));
    }
    result == 0
}

/// As on x86_64; here the kernel has faccessat(2) alone.
///
/// # Safety
/// `path` ends with a zero byte.
#[cfg(target_arch = "aarch64")]
pub(crate) unsafe fn exists(path: *const u8) -> bool {
    const FACCESSAT: usize = 48;
    const HERE: isize = -100;
    const READABLE: usize = 4;
    let result: isize;
    // SAFETY: faccessat reads the path and changes nothing.
    unsafe {
        core::arch::asm!("svc 0", in("x8") FACCESSAT, inlateout("x0") HERE => result,
            in("x1") path, in("x2") READABLE, options(nostack, readonly));
    }
    result == 0
}

//! Memory of a GPU passed as a buffer: recognised and refused, never dereferenced.
//!
//! Enters: the addresses of buffer arguments. Leaves: `MPI_ERR_BUFFER` for one that the GPU's own
//! driver says is memory of a device. Reaching into such memory is not built; without this check a
//! program that passes it dies in a copy, with no word about why.
//!
//! Nothing of a GPU is touched in a process that has not loaded its driver. Since a program may
//! load one at any time (Python does so at an `import` after MPI's), the question comes up again
//! for every region of addresses that was not seen yet; a region that was is one load and compare.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::mem::transmute;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use mpi_core::error::{Error, ErrorClass, Result};

/// The finest grain at which drivers hand out addresses: 2 MiB.
const REGION_BITS: u32 = 21;
/// Regions remembered as the host's: 1 GiB of them at best, in 4 KiB.
const REMEMBERED: usize = 512;

/// By number, each at its number modulo the size. Region 0 starts out as known: MPI_BOTTOM, NULL
/// and the special addresses lie in it.
static HOST: [AtomicUsize; REMEMBERED] = [const { AtomicUsize::new(0) }; REMEMBERED];

/// Passes the address of a buffer on unless it is a device's.
///
/// # Errors
/// `MPI_ERR_BUFFER` for memory of a device.
#[inline]
pub(crate) fn refuse(param: &'static str, address: *const c_void) -> Result<()> {
    if is_known(address) { Ok(()) } else { look(param, address) }
}

/// Whether an address lies in a region that is remembered as the host's.
#[inline]
pub(crate) fn is_known(address: *const c_void) -> bool {
    let region = address.addr() >> REGION_BITS;
    HOST[region % REMEMBERED].load(Ordering::Relaxed) == region
}

#[cold]
fn look(param: &'static str, address: *const c_void) -> Result<()> {
    let region = address.addr() >> REGION_BITS;
    if let Some(driver) = driver().filter(|driver| driver.owns(address)) {
        let name = driver.kind.soname.to_string_lossy();
        let what = format!("is memory of a GPU ({address:p}, says {name})");
        return Err(Error::param(ErrorClass::BUFFER, param, what).hint(
            "This library does not reach into device memory yet: copy the data to host memory, \
             or use managed memory.",
        ));
    }
    HOST[region % REMEMBERED].store(region, Ordering::Relaxed);
    Ok(())
}

/// A driver that can be asked about an address.
struct Kind {
    soname: &'static CStr,
    question: &'static CStr,
    /// The answer for memory that only the device can reach.
    device: c_uint,
}

impl Kind {
    /// The name of its file, up to the version.
    fn family(&self) -> &'static [u8] {
        let name = self.soname.to_bytes();
        name.rsplitn(2, |byte| *byte == b'.').last().unwrap_or(name)
    }
}

/// The numbers are those of the drivers' interfaces: CUDA's since 4.0, HIP's as renumbered in
/// version 6 of its library and as before.
const KINDS: [Kind; 3] = [
    Kind { soname: c"libcuda.so.1", question: c"cuPointerGetAttribute", device: 2 },
    Kind { soname: c"libamdhip64.so.6", question: c"hipPointerGetAttribute", device: 2 },
    Kind { soname: c"libamdhip64.so.5", question: c"hipPointerGetAttribute", device: 1 },
];
/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`, and HIP's name for it.
const MEMORY_TYPE: c_int = 2;
/// `CU_POINTER_ATTRIBUTE_IS_MANAGED`: the host may touch such memory, wherever it lies now.
const IS_MANAGED: c_int = 8;

/// `cuPointerGetAttribute(void *data, int attribute, unsigned long long pointer)`.
type Question = unsafe extern "C" fn(*mut c_void, c_int, c_ulonglong) -> c_int;

struct Driver {
    kind: &'static Kind,
    ask: Question,
}

impl Driver {
    fn owns(&self, address: *const c_void) -> bool {
        self.answer(MEMORY_TYPE, address) == Some(self.kind.device)
            && self.answer(IS_MANAGED, address).is_none_or(|managed| managed == 0)
    }

    /// What the driver says of an address; nothing for memory that is not its own.
    fn answer(&self, attribute: c_int, address: *const c_void) -> Option<c_uint> {
        let mut data: c_uint = 0;
        // SAFETY: the driver's own function with its documented signature; both attributes are
        // written as an unsigned int.
        let code = unsafe { (self.ask)((&raw mut data).cast(), attribute, address.addr() as u64) };
        (code == 0).then_some(data)
    }
}

/// The driver that this process has loaded, if it has.
fn driver() -> Option<&'static Driver> {
    static FOUND: OnceLock<Driver> = OnceLock::new();
    /// How many objects had ever been loaded when the question was last asked.
    static ASKED: AtomicU64 = AtomicU64::new(0);
    if FOUND.get().is_none() {
        let loaded = Loaded::now();
        if ASKED.swap(loaded.ever, Ordering::Relaxed) != loaded.ever
            && let Some(driver) = loaded.kinds().find_map(open)
        {
            FOUND.get_or_init(|| driver);
            // What was the host's before the driver came may have become a device's.
            HOST.iter().for_each(|region| region.store(0, Ordering::Relaxed));
        }
    }
    FOUND.get()
}

/// Opens a driver that is loaded. For one that is not, the linker would look through all its
/// folders, which takes as long as a thousand messages, only to say so.
fn open(kind: &'static Kind) -> Option<Driver> {
    const LOADED_ALREADY: c_int = libc::RTLD_NOLOAD | libc::RTLD_LAZY;
    let name: *const c_char = kind.soname.as_ptr();
    // SAFETY: both names end in a zero; a driver that was found stays loaded since its handle is
    // kept; the function has the type that its interface documents.
    unsafe {
        let handle = libc::dlopen(name, LOADED_ALREADY);
        if handle.is_null() {
            return None;
        }
        let function = libc::dlsym(handle, kind.question.as_ptr());
        if function.is_null() {
            return None;
        }
        Some(Driver { kind, ask: transmute::<*mut c_void, Question>(function) })
    }
}

/// What the dynamic linker has loaded into this process.
#[derive(Default)]
struct Loaded {
    /// How many objects, those that are gone included.
    ever: u64,
    /// Which of [`KINDS`] are among those that are there, by their names.
    kinds: [bool; KINDS.len()],
}

impl Loaded {
    fn now() -> Loaded {
        unsafe extern "C" fn note(
            object: *mut libc::dl_phdr_info,
            _: usize,
            loaded: *mut c_void,
        ) -> c_int {
            // SAFETY: the linker passes an object, whose name ends in a zero or is missing, and
            // `loaded` is the value below.
            let (object, loaded) = unsafe { (&*object, &mut *loaded.cast::<Loaded>()) };
            loaded.ever = object.dlpi_adds;
            if !object.dlpi_name.is_null() {
                // SAFETY: as above.
                loaded.note(unsafe { CStr::from_ptr(object.dlpi_name) }.to_bytes());
            }
            0
        }
        let mut loaded = Loaded::default();
        // SAFETY: `note` fits and `loaded` outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut loaded).cast()) };
        loaded
    }

    /// Takes in an object by the path that it was loaded from. A driver's file may have a longer
    /// version in its name than its soname has.
    fn note(&mut self, path: &[u8]) {
        let file = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        for (kind, is_there) in KINDS.iter().zip(&mut self.kinds) {
            *is_there |= file.starts_with(kind.family());
        }
    }

    fn kinds(&self) -> impl Iterator<Item = &'static Kind> {
        KINDS.iter().zip(self.kinds).filter_map(|(kind, is_there)| is_there.then_some(kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_are_known_by_the_files_that_they_come_from() {
        let kinds = |path: &str| {
            let mut loaded = Loaded::default();
            loaded.note(path.as_bytes());
            loaded.kinds().map(|kind| kind.soname.to_str().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(kinds("/usr/lib/x86_64-linux-gnu/libcuda.so.1"), ["libcuda.so.1"]);
        assert_eq!(kinds("libcuda.so.535.54.03"), ["libcuda.so.1"]);
        assert_eq!(
            kinds("/opt/rocm/lib/libamdhip64.so.6.1"),
            ["libamdhip64.so.6", "libamdhip64.so.5"]
        );
        assert_eq!(kinds("/opt/libcuda.so.1/libm.so.6"), [""; 0]);
        assert_eq!(kinds("/usr/lib/libcudart.so.12"), [""; 0]);
        assert_eq!(kinds(""), [""; 0]);
    }
}

//! The library itself, opened when it is first asked for: nothing is linked, nothing happens at load.
//!
//! In: its path. Out: the few functions that are symbols of it; all others stand in the tables of the objects
//! that these give. It is never closed again, since its providers may have threads and hooks of their own.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::transmute;
use std::ptr::{null, null_mut};

use super::bindings::*;

/// What is asked for: the interface of libfabric 1.17, which newer libraries keep.
pub(super) const VERSION: u32 = 1 << 16 | 17;

type GetInfo = unsafe extern "C" fn(
    u32,
    *const c_char,
    *const c_char,
    u64,
    *const fi_info,
    *mut *mut fi_info,
) -> c_int;
type FreeInfo = unsafe extern "C" fn(*mut fi_info);
type DupInfo = unsafe extern "C" fn(*const fi_info) -> *mut fi_info;
type Fabric = unsafe extern "C" fn(*mut fi_fabric_attr, *mut *mut fid_fabric, *mut c_void) -> c_int;
type StrError = unsafe extern "C" fn(c_int) -> *const c_char;
type Version = unsafe extern "C" fn() -> u32;
/// An open library.
#[derive(Clone, Copy)]
pub(super) struct Library {
    get_info: GetInfo,
    free_info: FreeInfo,
    dup_info: DupInfo,
    fabric: Fabric,
    strerror: StrError,
    version: u32,
}

impl Library {
    /// Opens the library at `path`, or of that name where the loader looks.
    pub(super) fn open(path: &str) -> Result<Library, String> {
        let advice = "install libfabric, or say where it is by FERRITE_OFI_LIBRARY";
        let name = CString::new(path)
            .map_err(|_| format!("the name of libfabric \"{path}\" has a zero byte; {advice}"))?;
        // SAFETY: the name ends in a zero byte; the library's constructors are what any program runs that uses it.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(format!("libfabric cannot be opened ({}); {advice}", loader_says()));
        }
        let find = |name: &CStr| {
            // SAFETY: the handle is open, the name ends in a zero byte.
            let symbol = unsafe { libc::dlsym(handle, name.as_ptr()) };
            let lacks = || format!("{path} is no libfabric: it has no {name:?}; {advice}");
            if symbol.is_null() { Err(lacks()) } else { Ok(symbol) }
        };
        let version = find(c"fi_version")?;
        // SAFETY: the types are those of rdma/fabric.h, to which the library keeps by its soname.
        let library = unsafe {
            Library {
                get_info: transmute::<*mut c_void, GetInfo>(find(c"fi_getinfo")?),
                free_info: transmute::<*mut c_void, FreeInfo>(find(c"fi_freeinfo")?),
                dup_info: transmute::<*mut c_void, DupInfo>(find(c"fi_dupinfo")?),
                fabric: transmute::<*mut c_void, Fabric>(find(c"fi_fabric")?),
                strerror: transmute::<*mut c_void, StrError>(find(c"fi_strerror")?),
                version: transmute::<*mut c_void, Version>(version)(),
            }
        };
        if library.version < VERSION {
            let (major, minor) = (library.version >> 16, library.version & 0xffff);
            return Err(format!("{path} is libfabric {major}.{minor}, of before 1.17; {advice}"));
        }
        Ok(library)
    }

    /// The version, for people.
    pub(super) fn version(&self) -> String {
        format!("{}.{}", self.version >> 16, self.version & 0xffff)
    }

    /// An error's text, by its number, whichever sign it has.
    pub(super) fn explain(&self, error: i64) -> String {
        let number = c_int::try_from(error.abs()).unwrap_or(c_int::MAX);
        // SAFETY: it gives a text that stays, for any number.
        let text = unsafe { CStr::from_ptr((self.strerror)(number)) };
        format!("{} ({number})", text.to_string_lossy())
    }

    /// An empty `fi_info` of the library's own length.
    pub(super) fn empty(&self) -> Result<Info, String> {
        self.duplicate(null())
    }

    fn duplicate(&self, of: *const fi_info) -> Result<Info, String> {
        // SAFETY: null, or a structure that the library made.
        let info = unsafe { (self.dup_info)(of) };
        if info.is_null() {
            return Err("libfabric got no memory for a description".to_owned());
        }
        Ok(Info { info, library: *self })
    }

    /// What is offered for these wishes, the best first by the library's own judgement.
    pub(super) fn offers(&self, hints: &Info) -> Result<Vec<Info>, i64> {
        let mut first: *mut fi_info = null_mut();
        // SAFETY: no node and no service; the hints are of the library's making; the place for the list is ours.
        let error =
            unsafe { (self.get_info)(VERSION, null(), null(), 0, hints.info, &raw mut first) };
        if error != 0 {
            return Err(error.into());
        }
        let mut offers = Vec::new();
        let mut at = first;
        while !at.is_null() {
            // SAFETY: an element of the list that the library made.
            offers.extend(self.duplicate(at));
            // SAFETY: as above.
            at = unsafe { (*at).next };
        }
        // SAFETY: the list's head; copies have been made of all.
        unsafe { (self.free_info)(first) };
        Ok(offers)
    }

    /// Opens the fabric of an offer.
    pub(super) fn fabric(&self, info: &Info) -> Result<*mut fid_fabric, i64> {
        let mut fabric = null_mut();
        // SAFETY: the description is of the library's making; the place for the answer is ours.
        let error = unsafe { (self.fabric)(info.get().fabric_attr, &raw mut fabric, null_mut()) };
        if error == 0 { Ok(fabric) } else { Err(error.into()) }
    }
}

/// What the loader has to say of its last failure.
fn loader_says() -> String {
    // SAFETY: it gives null or a text that stays until this thread's next call of the loader.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the loader says no more".to_owned();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// A description of what is wished for or offered, made by the library.
pub(super) struct Info {
    info: *mut fi_info,
    library: Library,
}

// SAFETY: plain memory, which nobody else has.
unsafe impl Send for Info {}

impl Info {
    pub(super) fn pointer(&self) -> *mut fi_info {
        self.info
    }

    pub(super) fn get(&self) -> &fi_info {
        // SAFETY: made by the library and freed by `drop` alone.
        unsafe { &*self.info }
    }

    pub(super) fn get_mut(&mut self) -> &mut fi_info {
        // SAFETY: as in `get`; the borrow is exclusive.
        unsafe { &mut *self.info }
    }

    pub(super) fn tx(&self) -> &fi_tx_attr {
        // SAFETY: the library makes each description with all its parts.
        unsafe { &*self.get().tx_attr }
    }

    pub(super) fn rx(&self) -> &fi_rx_attr {
        // SAFETY: as in `tx`.
        unsafe { &*self.get().rx_attr }
    }

    pub(super) fn ep(&self) -> &fi_ep_attr {
        // SAFETY: as in `tx`.
        unsafe { &*self.get().ep_attr }
    }

    pub(super) fn domain(&self) -> &fi_domain_attr {
        // SAFETY: as in `tx`.
        unsafe { &*self.get().domain_attr }
    }

    pub(super) fn tx_mut(&mut self) -> &mut fi_tx_attr {
        // SAFETY: as in `tx`; the borrow is exclusive.
        unsafe { &mut *self.get().tx_attr }
    }

    pub(super) fn rx_mut(&mut self) -> &mut fi_rx_attr {
        // SAFETY: as in `tx_mut`.
        unsafe { &mut *self.get().rx_attr }
    }

    pub(super) fn ep_mut(&mut self) -> &mut fi_ep_attr {
        // SAFETY: as in `tx_mut`.
        unsafe { &mut *self.get().ep_attr }
    }

    pub(super) fn domain_mut(&mut self) -> &mut fi_domain_attr {
        // SAFETY: as in `tx_mut`.
        unsafe { &mut *self.get().domain_attr }
    }

    pub(super) fn fabric_mut(&mut self) -> &mut fi_fabric_attr {
        // SAFETY: as in `tx_mut`.
        unsafe { &mut *self.get().fabric_attr }
    }

    pub(super) fn provider(&self) -> String {
        // SAFETY: as in `tx`.
        text(unsafe { (*self.get().fabric_attr).prov_name })
    }

    /// The provider's version, for people.
    pub(super) fn provider_version(&self) -> String {
        // SAFETY: as in `tx`.
        let version = unsafe { (*self.get().fabric_attr).prov_version };
        format!("{}.{}", version >> 16, version & 0xffff)
    }

    pub(super) fn domain_name(&self) -> String {
        text(self.domain().name)
    }
}

impl Drop for Info {
    fn drop(&mut self) {
        // SAFETY: made by the library, freed once.
        unsafe { (self.library.free_info)(self.info) }
    }
}

/// A text of the library's, empty where there is none.
fn text(at: *const c_char) -> String {
    if at.is_null() {
        return String::new();
    }
    // SAFETY: texts in descriptions end in a zero byte.
    unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned()
}

/// A text that the library frees with the description in which it stands.
pub(super) fn given(text: &str) -> *mut c_char {
    let text = CString::new(text).unwrap_or_default();
    // SAFETY: it ends in a zero byte; null where there is no memory, which means no wish.
    unsafe { libc::strdup(text.as_ptr()) }
}

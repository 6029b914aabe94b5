//! The functions of libibverbs, found when they are first wanted: a machine without that library loads ours all
//! the same. Types, and what its header defines inline, come from `rdma-sys`.
//!
//! `ibv_query_port` is the symbol of that name, which fills the first part of the attributes: they are zeroed
//! before. `ibv_fork_init` is never called: it keeps pages of the program from its children, and goes wrong where
//! memory is freed before it is deregistered.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use rdma_sys::{
    ibv_ah, ibv_ah_attr, ibv_async_event, ibv_comp_channel, ibv_context, ibv_cq, ibv_device,
    ibv_device_attr, ibv_gid, ibv_mr, ibv_pd, ibv_port_attr, ibv_qp, ibv_qp_attr, ibv_qp_init_attr,
    ibv_srq, ibv_srq_init_attr,
};

/// The library's file, by the name that has stayed since 2006.
const FILE: &CStr = c"libibverbs.so.1";

macro_rules! functions {
    ($($name:ident: $symbol:literal, fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions.
        #[derive(Clone, Copy)]
        pub(super) struct Library {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            /// Since rdma-core 36.
            pub(super) data_in_order: Option<unsafe extern "C" fn(*mut ibv_qp, c_uint, u32) -> c_int>,
        }

        impl Library {
            /// Looks them all up in a library.
            fn find(handle: *mut c_void) -> Result<Library, &'static CStr> {
                $(
                    let found = symbol(handle, $symbol);
                    if found.is_null() {
                        return Err($symbol);
                    }
                    // SAFETY: libibverbs has had this prototype under this name for as long as the file's name
                    // has its number.
                    let $name = unsafe {
                        std::mem::transmute::<
                            *mut c_void,
                            unsafe extern "C" fn($($argument),*) $(-> $result)?,
                        >(found)
                    };
                )*
                let found = symbol(handle, c"ibv_query_qp_data_in_order");
                // SAFETY: as above; a null pointer becomes `None`.
                let data_in_order = unsafe {
                    std::mem::transmute::<
                        *mut c_void,
                        Option<unsafe extern "C" fn(*mut ibv_qp, c_uint, u32) -> c_int>,
                    >(found)
                };
                Ok(Library { $($name,)* data_in_order })
            }
        }
    };
}

functions! {
    get_device_list: c"ibv_get_device_list", fn(*mut c_int) -> *mut *mut ibv_device;
    free_device_list: c"ibv_free_device_list", fn(*mut *mut ibv_device);
    get_device_name: c"ibv_get_device_name", fn(*mut ibv_device) -> *const c_char;
    open_device: c"ibv_open_device", fn(*mut ibv_device) -> *mut ibv_context;
    close_device: c"ibv_close_device", fn(*mut ibv_context) -> c_int;
    query_device: c"ibv_query_device", fn(*mut ibv_context, *mut ibv_device_attr) -> c_int;
    query_port: c"ibv_query_port", fn(*mut ibv_context, u8, *mut ibv_port_attr) -> c_int;
    query_gid: c"ibv_query_gid", fn(*mut ibv_context, u8, c_int, *mut ibv_gid) -> c_int;
    query_pkey: c"ibv_query_pkey", fn(*mut ibv_context, u8, c_int, *mut u16) -> c_int;
    alloc_pd: c"ibv_alloc_pd", fn(*mut ibv_context) -> *mut ibv_pd;
    dealloc_pd: c"ibv_dealloc_pd", fn(*mut ibv_pd) -> c_int;
    reg_mr: c"ibv_reg_mr", fn(*mut ibv_pd, *mut c_void, usize, c_int) -> *mut ibv_mr;
    dereg_mr: c"ibv_dereg_mr", fn(*mut ibv_mr) -> c_int;
    create_comp_channel: c"ibv_create_comp_channel", fn(*mut ibv_context) -> *mut ibv_comp_channel;
    destroy_comp_channel: c"ibv_destroy_comp_channel", fn(*mut ibv_comp_channel) -> c_int;
    create_cq: c"ibv_create_cq",
        fn(*mut ibv_context, c_int, *mut c_void, *mut ibv_comp_channel, c_int) -> *mut ibv_cq;
    destroy_cq: c"ibv_destroy_cq", fn(*mut ibv_cq) -> c_int;
    get_cq_event: c"ibv_get_cq_event",
        fn(*mut ibv_comp_channel, *mut *mut ibv_cq, *mut *mut c_void) -> c_int;
    ack_cq_events: c"ibv_ack_cq_events", fn(*mut ibv_cq, c_uint);
    create_srq: c"ibv_create_srq", fn(*mut ibv_pd, *mut ibv_srq_init_attr) -> *mut ibv_srq;
    destroy_srq: c"ibv_destroy_srq", fn(*mut ibv_srq) -> c_int;
    create_qp: c"ibv_create_qp", fn(*mut ibv_pd, *mut ibv_qp_init_attr) -> *mut ibv_qp;
    modify_qp: c"ibv_modify_qp", fn(*mut ibv_qp, *mut ibv_qp_attr, c_int) -> c_int;
    destroy_qp: c"ibv_destroy_qp", fn(*mut ibv_qp) -> c_int;
    create_ah: c"ibv_create_ah", fn(*mut ibv_pd, *mut ibv_ah_attr) -> *mut ibv_ah;
    destroy_ah: c"ibv_destroy_ah", fn(*mut ibv_ah) -> c_int;
    get_async_event: c"ibv_get_async_event", fn(*mut ibv_context, *mut ibv_async_event) -> c_int;
    ack_async_event: c"ibv_ack_async_event", fn(*mut ibv_async_event);
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("libibverbs")
    }
}

impl Library {
    /// The library, loaded by the first call and kept.
    ///
    /// # Errors
    /// It is not there or not whole; in a sentence with the cure.
    pub(super) fn get() -> Result<&'static Library, String> {
        static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
        LIBRARY.get_or_init(|| Library::load(FILE)).as_ref().map_err(Clone::clone)
    }

    fn load(file: &CStr) -> Result<Library, String> {
        // SAFETY: a name that ends in zero. The constructors of that library and of the drivers it loads are
        // made for any moment of a process.
        let handle = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        let name = file.to_string_lossy();
        if handle.is_null() {
            return Err(format!(
                "there is no verbs library that can be loaded ({}); install rdma-core's {name} (libibverbs1 and \
                 ibverbs-providers in Debian, libibverbs in others)",
                last_error().unwrap_or_else(|| name.clone().into_owned()),
            ));
        }
        Library::find(handle).map_err(|symbol| {
            format!(
                "{name} has no function {}; install rdma-core's, of version 20 or later",
                symbol.to_string_lossy(),
            )
        })
    }
}

fn symbol(handle: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: a handle that dlopen gave, and a name that ends in zero.
    unsafe { libc::dlsym(handle, name.as_ptr()) }
}

/// What the loader says about its last failure.
fn last_error() -> Option<String> {
    // SAFETY: the text is the loader's, valid until its next call on this thread.
    unsafe {
        let text = libc::dlerror();
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_told_in_a_sentence_with_the_cure() {
        let why = Library::load(c"libibverbs-of-nobody.so.1").unwrap_err();
        assert!(why.contains("no verbs library") && why.contains("install rdma-core"), "{why}");
        let why = Library::load(c"libc.so.6").unwrap_err();
        assert!(why.contains("no function ibv_get_device_list"), "{why}");
    }

    #[test]
    fn the_library_is_found_whole_where_it_is_installed() {
        match Library::get() {
            Ok(library) => assert_eq!(format!("{library:?}"), "libibverbs"),
            Err(why) => assert!(why.contains("can be loaded"), "{why}"),
        }
    }
}

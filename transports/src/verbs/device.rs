//! What devices there are, and what the chosen ones can do.
//!
//! In: the library's lists and the kernel's files about addresses. Out: a description for the choice, and open devices.

use std::ffi::CStr;
use std::io;
use std::mem::{MaybeUninit, offset_of};
use std::ptr::NonNull;
use std::sync::Arc;

use rdma_sys::{
    ibv_access_flags, ibv_atomic_cap, ibv_device, ibv_device_attr, ibv_device_attr_ex, ibv_gid,
    ibv_node_type, ibv_odp_transport_cap_bits as odp, ibv_port_attr, ibv_port_state,
    ibv_transport_type, verbs_context,
};

use super::choice::{Chosen, DeviceFound, GidFound, GidKind, Link, PortFound, choose};
use super::library::Library;
use super::objects::{Context, Mr, Pd, answered};
use super::settings::VerbsSettings;

/// Entries of a port's tables that are looked at.
const TABLE_MAX: i32 = 255;

/// The link layer of Ethernet, as the library counts.
const ETHERNET: u8 = 2;

/// A device that was found: its description, and itself if it could be opened.
struct Opened {
    found: DeviceFound,
    context: Option<Arc<Context>>,
}

/// Opens all devices and looks at them.
fn survey(library: &'static Library) -> Result<Vec<Opened>, String> {
    let mut number = 0;
    // SAFETY: the library writes the number.
    let list = unsafe { (library.get_device_list)(&raw mut number) };
    if list.is_null() {
        let error = io::Error::last_os_error();
        return Err(match error.raw_os_error() {
            Some(libc::ENOSYS) => {
                "this host has no RDMA device, or the kernel's module ib_uverbs is not loaded"
                    .into()
            }
            _ => format!("devices for verbs cannot be listed: {error}"),
        });
    }
    // SAFETY: the list has so many entries, which live until it is freed or the device is open.
    let opened = unsafe {
        let devices = std::slice::from_raw_parts(list, usize::try_from(number).unwrap_or(0));
        let opened = devices.iter().map(|device| open(library, *device)).collect();
        (library.free_device_list)(list);
        opened
    };
    Ok(opened)
}

/// Opens the devices that are to be used, in the order of preference, one entry for each port.
pub(super) fn open_chosen(settings: &VerbsSettings) -> Result<Vec<(Arc<Context>, Chosen)>, String> {
    let opened = survey(Library::get()?)?;
    let found: Vec<_> = opened.iter().map(|device| device.found.clone()).collect();
    let with_context = |chosen: Chosen| {
        let device = opened.iter().find(|device| device.found.name == chosen.device);
        let context = device.and_then(|device| device.context.clone());
        Ok((context.ok_or("a device has gone meanwhile")?, chosen))
    };
    choose(&found, settings)?.into_iter().map(with_context).collect()
}

/// Opens a device and describes it.
///
/// # Safety
/// It stands in a list that is not freed yet.
unsafe fn open(library: &'static Library, device: *mut ibv_device) -> Opened {
    // SAFETY: a device of the list; its name is a text of its own.
    let (name, node, transport) = unsafe {
        let name = CStr::from_ptr((library.get_device_name)(device));
        (name.to_string_lossy().into_owned(), (*device).node_type, (*device).transport_type)
    };
    let unfit =
        |why: String| DeviceFound { name: name.clone(), unfit: Some(why), ports: Vec::new() };
    if node != ibv_node_type::IBV_NODE_CA || transport != ibv_transport_type::IBV_TRANSPORT_IB {
        let why =
            "offers no queue pairs as InfiniBand and RoCE have them; use libfabric or TCP for it";
        return Opened { found: unfit(why.to_owned()), context: None };
    }
    // SAFETY: a device of the list.
    let Some(raw) = NonNull::new(unsafe { (library.open_device)(device) }) else {
        return Opened { found: unfit(closed(&io::Error::last_os_error())), context: None };
    };
    // SAFETY: just opened, for us alone.
    let context = Arc::new(unsafe { Context::from_raw(library, raw) });
    match ports(&context, &name) {
        Ok(ports) => {
            let found = DeviceFound { name, unfit: None, ports };
            Opened { found, context: Some(context) }
        }
        Err(error) => Opened { found: unfit(format!("cannot be asked ({error})")), context: None },
    }
}

/// Why a device could not be opened.
fn closed(error: &io::Error) -> String {
    // The library says that there is no file where this user may not open it.
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM | libc::ENOENT | libc::ENODEV | libc::ENXIO) => format!(
            "has no file in /dev/infiniband that this user may open ({error}); its uverbs file must be readable and \
             writable for all users, and a container must be given it (--device=/dev/infiniband)"
        ),
        _ => format!("cannot be opened ({error}); see what the kernel says of it (dmesg)"),
    }
}

/// What more there is to say about a refused resource.
pub(super) fn cure(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOMEM | libc::EAGAIN) => format!(
            "{error}; the memory that a process may lock is probably too small: `ulimit -l` should say unlimited, \
             also in the batch system's daemon"
        ),
        _ => error.to_string(),
    }
}

/// All attributes of a device.
fn attributes(context: &Context) -> io::Result<ibv_device_attr> {
    let mut attributes = MaybeUninit::<ibv_device_attr>::zeroed();
    // SAFETY: an open device fills the attributes, which are numbers.
    unsafe {
        answered((context.library.query_device)(context.raw.as_ptr(), attributes.as_mut_ptr()))?;
        Ok(attributes.assume_init())
    }
}

fn ports(context: &Context, name: &str) -> io::Result<Vec<PortFound>> {
    let number = attributes(context)?.phys_port_cnt;
    (1..=number).map(|port| describe(context, name, port)).collect()
}

fn port_attributes(context: &Context, port: u8) -> io::Result<ibv_port_attr> {
    let mut attributes = MaybeUninit::<ibv_port_attr>::zeroed();
    // SAFETY: an open device fills the first part of the attributes, which are numbers.
    unsafe {
        answered((context.library.query_port)(
            context.raw.as_ptr(),
            port,
            attributes.as_mut_ptr(),
        ))?;
        Ok(attributes.assume_init())
    }
}

/// Whether a port can be used now.
pub(super) fn is_active(context: &Context, port: u8) -> bool {
    port_attributes(context, port).is_ok_and(|port| port.state == ibv_port_state::IBV_PORT_ACTIVE)
}

fn describe(context: &Context, name: &str, number: u8) -> io::Result<PortFound> {
    let port = port_attributes(context, number)?;
    Ok(PortFound {
        number,
        is_active: port.state == ibv_port_state::IBV_PORT_ACTIVE,
        link: if port.link_layer == ETHERNET { Link::Ethernet } else { Link::InfiniBand },
        lid: port.lid,
        mtu: 128 << port.active_mtu.clamp(1, 5),
        speed: lanes(port.active_width) * megabits(port.active_speed),
        gids: gids(context, name, number, port.gid_tbl_len),
        pkeys: pkeys(context, number, port.pkey_tbl_len),
    })
}

/// Lanes of a link, by the code of its width.
fn lanes(width: u8) -> u32 {
    match width {
        2 => 4,
        4 => 8,
        8 => 12,
        16 => 2,
        _ => 1,
    }
}

/// Megabits a second of a lane, by the code of its speed.
fn megabits(speed: u8) -> u32 {
    match speed {
        2 => 5_000,
        4 | 8 => 10_000,
        16 => 14_000,
        32 => 25_000,
        64 => 50_000,
        128 => 100_000,
        _ => 2_500,
    }
}

fn gids(context: &Context, name: &str, port: u8, len: i32) -> Vec<GidFound> {
    let entry = |index: i32| {
        let mut gid = ibv_gid { raw: [0; 16] };
        // SAFETY: an open device fills the address; each of its forms is bytes.
        let gid = unsafe {
            let query = context.library.query_gid;
            answered(query(context.raw.as_ptr(), port, index, &raw mut gid)).ok()?;
            gid.raw
        };
        let kinds = format!("/sys/class/infiniband/{name}/ports/{port}/gid_attrs/types/{index}");
        let is_routable = std::fs::read_to_string(kinds).is_ok_and(|kind| kind.contains("v2"));
        let kind = if is_routable { GidKind::Routable } else { GidKind::Plain };
        // The last eight bytes of an address that is set are never all zero.
        gid[8..].iter().any(|byte| *byte != 0).then_some(GidFound { index: index as u8, gid, kind })
    };
    (0..len.min(TABLE_MAX)).filter_map(entry).collect()
}

fn pkeys(context: &Context, port: u8, len: u16) -> Vec<u16> {
    let entry = |index: i32| {
        let mut pkey = 0;
        // SAFETY: an open device fills the number.
        let answer = unsafe {
            (context.library.query_pkey)(context.raw.as_ptr(), port, index, &raw mut pkey)
        };
        if answer == 0 { u16::from_be(pkey) } else { 0 }
    };
    (0..i32::from(len).min(TABLE_MAX)).map(entry).collect()
}

/// What a device allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Limits {
    /// Reads and atomics under way on one queue pair: by us, and by the peer.
    pub(super) reads: u8,
    pub(super) their_reads: u8,
    pub(super) atomics: bool,
    /// Entries of completion queues, of shared receive queues, and of send queues.
    pub(super) completions: usize,
    pub(super) buffers: usize,
    pub(super) depth: u32,
    pub(super) message_bytes: usize,
    /// Whether registrations follow changes of memory.
    pub(super) on_demand: bool,
}

impl Limits {
    /// Asks an open device.
    pub(super) fn of(pd: &Arc<Pd>, port: u8, try_on_demand: bool) -> io::Result<Limits> {
        let device = attributes(&pd.context)?;
        let count = |number: i32| usize::try_from(number).unwrap_or(0);
        let few = |number: i32| u8::try_from(number.clamp(0, 16)).unwrap_or(0);
        if device.max_srq <= 0 {
            return Err(io::Error::other("it has no shared receive queues"));
        }
        let atomics = device.atomic_cap != ibv_atomic_cap::IBV_ATOMIC_NONE;
        Ok(Limits {
            reads: few(device.max_qp_init_rd_atom),
            their_reads: few(device.max_qp_rd_atom),
            atomics,
            completions: count(device.max_cqe),
            buffers: count(device.max_srq_wr),
            depth: count(device.max_qp_wr) as u32,
            message_bytes: port_attributes(&pd.context, port)?.max_msg_sz as usize,
            on_demand: try_on_demand && follows(pd, atomics),
        })
    }
}

/// Whether a device follows changes of memory for all that a connection does, and registers so.
fn follows(pd: &Arc<Pd>, atomics: bool) -> bool {
    let mut all = odp::IBV_ODP_SUPPORT_SEND.0
        | odp::IBV_ODP_SUPPORT_WRITE.0
        | odp::IBV_ODP_SUPPORT_READ.0
        | odp::IBV_ODP_SUPPORT_SRQ_RECV.0;
    if atomics {
        all |= odp::IBV_ODP_SUPPORT_ATOMIC.0;
    }
    if on_demand_abilities(&pd.context) & all != all {
        return false;
    }
    let mut page = vec![0u8; 4096];
    let access =
        ibv_access_flags::IBV_ACCESS_LOCAL_WRITE.0 | ibv_access_flags::IBV_ACCESS_ON_DEMAND.0;
    // SAFETY: the memory outlives the registration, which goes at once.
    unsafe { Mr::new(pd, page.as_mut_ptr(), page.len(), access) }.is_ok()
}

/// What reliable connections can do with memory that is followed. The function that tells stands behind the
/// context, in a structure that older libraries may lack, or its end.
fn on_demand_abilities(context: &Context) -> u32 {
    let raw = context.raw.as_ptr();
    // SAFETY: as the library's header does it: the mark says that the context lies within the larger structure,
    // whose size says how much of its beginning is there; the attributes are numbers.
    unsafe {
        if (*raw).abi_compat as usize != usize::MAX {
            return 0;
        }
        let whole =
            raw.cast::<u8>().sub(offset_of!(verbs_context, context)).cast::<verbs_context>();
        let needed = size_of::<verbs_context>() - offset_of!(verbs_context, query_device_ex);
        let Some(query) = (*whole).query_device_ex.filter(|_| (*whole).sz >= needed) else {
            return 0;
        };
        let mut attributes = MaybeUninit::<ibv_device_attr_ex>::zeroed();
        let size = size_of::<ibv_device_attr_ex>();
        match query(raw, std::ptr::null(), attributes.as_mut_ptr(), size) {
            0 => attributes.assume_init().odp_caps.per_transport_caps.rc_odp_caps,
            _ => 0,
        }
    }
}

//! Communicators (MPI-5.0 §7.4).

use mpi_core::constants::UNDEFINED;
use mpi_core::error::{ErrorClass, Result};
use mpi_core::handle::{CommHandle, GroupHandle, InfoHandle};
use mpi_core::session::ProcessSet;
use mpi_core::text::Text;

use super::{hardware, info};
use crate::cx::Cx;

/// `MPI_Comm_size`.
#[inline]
pub fn comm_size(cx: &mut Cx<'_>, comm: CommHandle, size: &mut i32) -> Result<()> {
    *size = cx.comm(comm)?.size() as i32;
    Ok(())
}

/// `MPI_Comm_rank`.
#[inline]
pub fn comm_rank(cx: &mut Cx<'_>, comm: CommHandle, rank: &mut i32) -> Result<()> {
    *rank = cx.comm(comm)?.rank as i32;
    Ok(())
}

/// `MPI_Comm_compare`.
pub fn comm_compare(
    cx: &mut Cx<'_>,
    comm1: CommHandle,
    comm2: CommHandle,
    result: &mut i32,
) -> Result<()> {
    *result = cx.comm(comm1)?.compare(cx.comm(comm2)?) as i32;
    Ok(())
}

/// `MPI_Comm_test_inter`.
pub fn comm_test_inter(cx: &mut Cx<'_>, comm: CommHandle, flag: &mut bool) -> Result<()> {
    *flag = cx.comm(comm)?.remote.is_some();
    Ok(())
}

/// `MPI_Comm_remote_size`.
pub fn comm_remote_size(cx: &mut Cx<'_>, comm: CommHandle, size: &mut i32) -> Result<()> {
    *size = remote(cx, comm)?.size() as i32;
    Ok(())
}

/// `MPI_Comm_remote_group`.
pub fn comm_remote_group(cx: &mut Cx<'_>, comm: CommHandle, group: &mut GroupHandle) -> Result<()> {
    let remote = remote(cx, comm)?.clone().of_session(cx.comm(comm)?.session);
    *group = cx.new_group(remote)?;
    Ok(())
}

fn remote<'a>(cx: &'a Cx<'_>, comm: CommHandle) -> Result<&'a mpi_core::group::Group> {
    cx.comm(comm)?.remote.as_ref().ok_or_else(|| {
        mpi_core::error::Error::param(ErrorClass::COMM, "comm", "is not an intercommunicator")
    })
}

/// `MPI_Comm_get_name`.
pub fn comm_get_name(cx: &mut Cx<'_>, comm: CommHandle, comm_name: &mut Text) -> Result<()> {
    if comm.is_null() {
        // The one query that takes it (MPI-5.0 §7.8).
        *comm_name = "MPI_COMM_NULL".into();
        return Ok(());
    }
    comm_name.clone_from(&cx.comm(comm)?.name);
    Ok(())
}

/// `MPI_Comm_set_name`.
pub fn comm_set_name(cx: &mut Cx<'_>, comm: CommHandle, comm_name: &[u8]) -> Result<()> {
    let name = Text::within(comm_name, cx.face.limits.object_name - 1);
    cx.comm_mut(comm)?.name = name;
    Ok(())
}

/// `MPI_Comm_get_parent`: no process of a job was spawned by another yet.
pub fn comm_get_parent(_: &mut Cx<'_>, parent: &mut CommHandle) -> Result<()> {
    *parent = CommHandle::NULL;
    Ok(())
}

/// The key of the resource that splits a communicator (§7.4.2).
const RESOURCE_TYPE: &str = "mpi_hw_resource_type";

/// The resource of those that can share memory, which is what a node is here.
const SHARED_MEMORY: &str = "mpi_shared_memory";

/// `MPI_Comm_split_type` (§7.4.2): by the resources of `hardware`, and by the process sets that
/// every session has; and the kinds that only Open MPI's ABI has.
pub fn comm_split_type(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    split_type: i32,
    key: i32,
    hints: InfoHandle,
    newcomm: &mut CommHandle,
) -> Result<()> {
    const SHARED: i32 = 221;
    const HW_UNGUIDED: i32 = 222;
    const HW_GUIDED: i32 = 223;
    const RESOURCE_GUIDED: i32 = 224;
    const OMPI_HWTHREAD: i32 = 225;
    const OMPI_NUMA: i32 = 231;
    const OMPI_BOARD: i32 = 232;
    const OMPI_HOST: i32 = 233;
    const OMPI_CU: i32 = 234;
    const OMPI_CLUSTER: i32 = 235;
    let hint = |cx: &Cx<'_>, key: &str| -> Result<Option<String>> {
        match hints.is_null() {
            true => Ok(None),
            false => Ok(info::copied(&cx.always, hints)?.get(key).map(Text::to_string)),
        }
    };
    let resource = hint(cx, RESOURCE_TYPE)?;
    let set = hint(cx, "mpi_pset_name")?.and_then(|name| ProcessSet::named(name.as_bytes()));
    let by_memory = resource.as_deref() == Some(SHARED_MEMORY);
    *newcomm = match (split_type, resource.as_deref(), set) {
        (SHARED, ..) => cx.communicators().split_near(comm, key)?,
        (HW_GUIDED | RESOURCE_GUIDED, ..) if by_memory => {
            cx.communicators().split_near(comm, key)?
        }
        (HW_GUIDED | RESOURCE_GUIDED, Some(resource), _) => {
            cx.communicators().split_place(comm, key, hardware::place(resource))?
        }
        (RESOURCE_GUIDED, None, Some(ProcessSet::World)) => {
            cx.communicators().split(comm, 0, key)?
        }
        (RESOURCE_GUIDED, None, Some(ProcessSet::Own)) => {
            let own = cx.own_peer().0 as i32;
            cx.communicators().split(comm, own, key)?
        }
        (OMPI_HWTHREAD..=OMPI_NUMA, ..) => {
            let resource = hardware::OMPI[(split_type - OMPI_HWTHREAD) as usize];
            cx.communicators().split_place(comm, key, hardware::place(resource))?
        }
        (OMPI_BOARD | OMPI_HOST, ..) => cx.communicators().split_near(comm, key)?,
        // All processes of a job are in one cluster.
        (OMPI_CU | OMPI_CLUSTER, ..) => cx.communicators().split(comm, 0, key)?,
        (HW_UNGUIDED, ..) => split_finer(cx, comm, key, hints)?,
        (HW_GUIDED | RESOURCE_GUIDED | UNDEFINED, ..) => {
            cx.communicators().split(comm, UNDEFINED, key)?
        }
        _ => mpi_core::fail!(ARG, "split_type", "is {split_type}, which is none of MPI's"),
    };
    Ok(())
}

/// The unguided split, which says in `told` what the parts are: a name for guided splits.
fn split_finer(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    key: i32,
    told: InfoHandle,
) -> Result<CommHandle> {
    let (part, level) = cx.communicators().split_finer(comm, key, &hardware::places())?;
    if !part.is_null() {
        let name = level.map_or_else(|| SHARED_MEMORY.to_owned(), hardware::name);
        info::tell(&cx.always, told, RESOURCE_TYPE, &name)?;
    }
    Ok(part)
}

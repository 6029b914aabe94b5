//! Puts, gets and accumulates (MPI-5.0 §12.3), done when they return.
//!
//! Accumulates exclude each other at their target, which makes them atomic element by element, in
//! order, and with each other whatever their operation (§12.7.1 asks for less).

use std::sync::Arc;

use super::Windows;
use crate::collectives::calls::Typed;
use crate::constants::PROC_NULL;
use crate::datatype::{Datatype, Datatypes, Group, Operand, basic, check_elements};
use crate::error::{Error, ErrorClass, Result};
use crate::handle::{DatatypeHandle, OpHandle, RequestHandle, WinHandle};
use crate::op::{Builtin, Op, Update};
use crate::port::Port;
use crate::process::Process;
use crate::request::Request;
use crate::rma::Window;
use crate::rma::memory::{self, Change, Line, Span};
use crate::status::Status;
use crate::window_segments::WindowSegments;

/// Elements of another process's window.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The window.
    pub win: WinHandle,
    /// Rank of the process.
    pub rank: i32,
    /// Where its elements begin, in its displacement units.
    pub disp: i64,
    /// How many there are.
    pub count: i64,
    /// Their type.
    pub datatype: DatatypeHandle,
    /// Whether the call returns a request.
    pub by_request: bool,
}

/// What a target is here: its line and its elements. `None` for `MPI_PROC_NULL`.
type Reached = Option<(Line, Span)>;

/// Elements of the program's own memory, the argument `param`.
fn span(typed: Typed, datatypes: &Datatypes, param: &'static str) -> Result<Span> {
    let Typed { buf, count, datatype } = typed;
    if count < 0 {
        crate::fail!(COUNT, "origin_count", "is {count}, but must not be negative");
    }
    let datatype = Arc::clone(datatypes.committed(datatype)?);
    check_elements(param, buf, count, &datatype)?;
    Ok(Span { at: buf, count, datatype })
}

impl Window {
    fn reach(&self, target: Target, datatypes: &Datatypes) -> Result<Reached> {
        let Target { rank, disp, count, datatype, by_request, .. } = target;
        if count < 0 {
            crate::fail!(COUNT, "target_count", "is {count}, but must not be negative");
        }
        let datatype = Arc::clone(datatypes.committed(datatype)?);
        if rank == PROC_NULL {
            return Ok(None);
        }
        let place = self.target(rank, "target_rank")?;
        self.epochs.check_access(place, by_request)?;
        if disp < 0 {
            crate::fail!(DISP, "target_disp", "is {disp}, but must not be negative");
        }
        let part = self.part(Some(place));
        let from = disp.checked_mul(part.disp_unit);
        let touched = match datatype.span(count) {
            Some((low, high)) => from.and_then(|from| {
                let (low, high) = (from.checked_add(low)?, from.checked_add(high)?);
                (low >= 0 && high <= part.size).then_some(from)
            }),
            None if count == 0 || datatype.size() == 0 => Some(0),
            None => None,
        };
        let Some(from) = touched else {
            crate::fail!(
                RMA_RANGE,
                "target_disp",
                "is {disp}, but {count} elements from there are not within the {} bytes of rank \
                 {rank}'s part of the window",
                part.size
            );
        };
        let at = part.base.offset(from);
        Ok(Some((Line::of(&self.segment, place), Span { at, count, datatype })))
    }

    /// `MPI_Put`.
    ///
    /// # Errors
    /// Those of the arguments; `MPI_ERR_RMA_RANGE`, `MPI_ERR_RMA_SYNC`.
    pub fn put(&self, origin: Typed, target: Target, datatypes: &Datatypes) -> Result<()> {
        let origin = span(origin, datatypes, "origin_addr")?;
        let Some((_, theirs)) = self.reach(target, datatypes)? else { return Ok(()) };
        check_fits(&origin, &theirs, "target_datatype")?;
        memory::copy(&origin, &theirs);
        Ok(())
    }

    /// `MPI_Get`.
    ///
    /// # Errors
    /// As [`Window::put`].
    pub fn get(&self, origin: Typed, target: Target, datatypes: &Datatypes) -> Result<()> {
        let origin = span(origin, datatypes, "origin_addr")?;
        let Some((_, theirs)) = self.reach(target, datatypes)? else { return Ok(()) };
        check_fits(&theirs, &origin, "origin_datatype")?;
        memory::copy(&theirs, &origin);
        Ok(())
    }
}

impl<P: Port> Windows<'_, P> {
    /// `MPI_Accumulate`, or with a place for what was there before, `MPI_Get_accumulate` and
    /// `MPI_Fetch_and_op`.
    ///
    /// # Errors
    /// As [`Window::put`]; `MPI_ERR_OP`, `MPI_ERR_TYPE`.
    pub fn accumulate(
        &mut self,
        origin: Typed,
        fetched: Option<Typed>,
        target: Target,
        op: OpHandle,
    ) -> Result<()> {
        let Op::Builtin(builtin) = self.entry.op(op)? else {
            crate::fail!(OP, "op", "is one of the program's, but accumulates take predefined ones");
        };
        let reads_alone = builtin == Builtin::NoOp;
        if reads_alone && fetched.is_none() {
            crate::fail!(OP, "op", "is MPI_NO_OP, which is for accumulates that fetch as well");
        }
        let origin = match fetched {
            Some(_) if reads_alone => None,
            _ => Some(span(origin, &self.entry.datatypes, "origin_addr")?),
        };
        let result = match fetched {
            Some(result) => Some(span(result, &self.entry.datatypes, "result_addr")?),
            None => None,
        };
        let window = self.entry.window(target.win)?;
        let Some((line, theirs)) = window.reach(target, &self.entry.datatypes)? else {
            return Ok(());
        };
        let mut update = match &origin {
            Some(origin) => {
                check_fits(origin, &theirs, "target_datatype")?;
                let how = how_to_update(builtin, origin, &theirs)?;
                Some((origin, Change::new(how, origin, &theirs)?))
            }
            None => None,
        };
        if let Some(result) = &result {
            check_fits(&theirs, result, "result_datatype")?;
        }
        self.updating(target, &line, || {
            if let Some(result) = &result {
                memory::copy(&theirs, result);
            }
            if let Some((origin, change)) = &mut update {
                change.make(origin, &theirs);
            }
        });
        Ok(())
    }

    /// `MPI_Compare_and_swap`; the three local buffers have one element each.
    ///
    /// # Errors
    /// As [`Window::put`]; `MPI_ERR_TYPE` for types that cannot be compared bit by bit (§12.3.4).
    pub fn compare_and_swap(
        &mut self,
        origin: Typed,
        compare: Typed,
        result: Typed,
        target: Target,
    ) -> Result<()> {
        let with = span(origin, &self.entry.datatypes, "origin_addr")?;
        let compare = span(compare, &self.entry.datatypes, "compare_addr")?;
        let was = span(result, &self.entry.datatypes, "result_addr")?;
        use Group::{Byte, CInteger, FortranInteger, Logical, MultiLanguage};
        // Those of `MPI_Type_create_f90_integer` are predefined, too, and Fortran integers (§6.9.2).
        let code = match with.datatype.operand() {
            Operand::Named(code) if with.datatype.is_predefined() => basic::row_of(code),
            _ => None,
        };
        let is_exact = code.is_some_and(|row| {
            matches!(row.group, CInteger | FortranInteger | Logical | MultiLanguage | Byte)
                || row.code == basic::CHAR
        });
        if !is_exact {
            crate::fail!(TYPE, "datatype", "is none whose elements can be compared and swapped");
        }
        let window = self.entry.window(target.win)?;
        let Some((line, theirs)) = window.reach(target, &self.entry.datatypes)? else {
            return Ok(());
        };
        self.updating(target, &line, || memory::swap_if(&theirs, &compare, &with, &was));
        Ok(())
    }

    /// Runs `update` while nobody else updates the target.
    fn updating(&mut self, target: Target, line: &Line, update: impl FnOnce()) {
        let ticket = line.queue_update();
        let call = |process: &Process<P>| process.waits_for_lock(target.win, target.rank as u32);
        self.entry.block_in(call, |process| {
            let mine = line.may_update(ticket);
            if !mine {
                process.port.memory_mut().watch();
            }
            mine
        });
        update();
        line.end_update();
    }

    /// The request of an operation that is done: `MPI_Rput` and its kin.
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM`.
    pub fn done_request(&mut self, win: WinHandle) -> Result<RequestHandle> {
        let comm = self.entry.window(win)?.comm;
        self.entry.vci.requests.insert(Request::finished(Status::EMPTY, comm))
    }
}

/// What one side gives must fit into what the other has for it (§12.3.1), where it may leave some as it is.
fn check_fits(from: &Span, to: &Span, param: &'static str) -> Result<()> {
    match (from.bytes(), to.bytes()) {
        (Some(given), Some(room)) if given <= room => Ok(()),
        (Some(given), Some(room)) => Err(Error::param(
            ErrorClass::TYPE,
            param,
            format!("has room for {room} bytes of data in so many elements, but there are {given}"),
        )),
        _ => crate::fail!(COUNT, "target_count", "leads beyond 63 bits"),
    }
}

/// What happens to the elements of the target, and the named datatype of which they are made.
fn how_to_update(op: Builtin, origin: &Span, target: &Span) -> Result<(Update, Arc<Datatype>)> {
    let (ours, theirs) =
        (Datatype::component(&origin.datatype), Datatype::component(&target.datatype));
    match (ours, theirs) {
        (Some(ours), Some(theirs)) if ours.is_reduced_like(&theirs) => {
            Ok((op.update(&theirs)?, theirs))
        }
        _ => crate::fail!(
            TYPE,
            "target_datatype",
            "and the origin's must both be made of one and the same named datatype"
        ),
    }
}

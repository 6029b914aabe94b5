//! Objects behind typed handles (decision 17).
//!
//! A handle from a program goes in, a reference to the object comes out, or an error that says
//! what the handle was instead. Objects lie in segments that never move. A look-up compares the
//! slot's last handle with the one given, so a freed, foreign or invented handle is noticed by
//! one compare. Predefined objects stand apart, at the numbers the standard ABI gives them.

use crate::constants::Special;
use crate::error::{Error, ErrorClass, Result};
use crate::handle::{FOREIGN_HANDLE, Handle, INDEX_END, Kind, PREDEFINED_END, noun};
use crate::tuning::TABLE_SEGMENT;

const NO_SLOT: u32 = u32::MAX;

/// One place for an object. `handle` is the last handle given out for it; it stays after the
/// object is gone, since the next one continues its generations.
struct Slot<T> {
    handle: u32,
    next_free: u32,
    object: Option<T>,
}

/// All objects of one kind in one process.
pub struct Table<K: Kind, T> {
    segments: Vec<Box<[Slot<T>]>>,
    /// Slots that were ever used.
    used: u32,
    /// The slot freed last, head of the list through `next_free`.
    free: u32,
    live: u32,
    /// Predefined objects by their distance from the kind's null handle, its lowest number.
    predefined: Vec<Option<T>>,
    kind: std::marker::PhantomData<fn() -> K>,
}

impl<K: Kind, T> Default for Table<K, T> {
    fn default() -> Self {
        Table::new()
    }
}

impl<K: Kind, T> Table<K, T> {
    /// A table with no object.
    pub fn new() -> Table<K, T> {
        Table {
            segments: Vec::new(),
            used: 0,
            free: NO_SLOT,
            live: 0,
            predefined: Vec::new(),
            kind: std::marker::PhantomData,
        }
    }

    /// Puts `object` at the number `code` that the standard ABI gives it; one that was there
    /// before is dropped.
    ///
    /// # Panics
    /// If `code` is not between the kind's null handle and the end of predefined handles.
    pub fn set_predefined(&mut self, code: u32, object: T) -> Handle<K> {
        assert!(K::NULL < code && code < PREDEFINED_END, "{code:#x} names no predefined object");
        let place = (code - K::NULL) as usize;
        if self.predefined.len() <= place {
            self.predefined.resize_with(place + 1, || None);
        }
        self.predefined[place] = Some(object);
        Handle::from_raw(code)
    }

    /// Takes the predefined object at `code` away, for an MPI that is being finalized.
    pub fn take_predefined(&mut self, code: u32) -> Option<T> {
        let place = code.checked_sub(K::NULL)? as usize;
        self.predefined.get_mut(place)?.take()
    }

    /// Keeps `object` and names it.
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM` when all indices of the kind are in use.
    #[inline(always)]
    pub fn insert(&mut self, object: T) -> Result<Handle<K>> {
        let handle = self.next_handle()?;
        let index = handle.index();
        let slot =
            &mut self.segments[index as usize / TABLE_SEGMENT][index as usize % TABLE_SEGMENT];
        self.free = slot.next_free;
        slot.handle = handle.raw();
        slot.next_free = NO_SLOT;
        debug_assert!(slot.object.is_none(), "a free slot holds no object");
        // Written as a match so that nothing is dropped, for which a call would be made.
        if let empty @ None = &mut slot.object {
            *empty = Some(object);
        }
        self.live += 1;
        Ok(handle)
    }

    /// The handle that the next [`Table::insert`] will give.
    ///
    /// # Errors
    /// As [`Table::insert`].
    #[inline]
    pub fn next_handle(&mut self) -> Result<Handle<K>> {
        if self.free == NO_SLOT {
            self.free = self.grow()?;
        }
        let index = self.free;
        let slot = &self.segments[index as usize / TABLE_SEGMENT][index as usize % TABLE_SEGMENT];
        let last = Handle::<K>::from_raw(slot.handle);
        Ok(Handle::<K>::new(index, last.generation().wrapping_add(1)))
    }

    /// A slot that was never used.
    #[cold]
    fn grow(&mut self) -> Result<u32> {
        let index = self.used;
        if index == INDEX_END {
            return Err(Error::new(
                ErrorClass::NO_MEM,
                format!("no handle is left: {INDEX_END} objects ({}) are in use", K::NOUN),
            )
            .hint("Free objects that are no longer needed."));
        }
        if index as usize / TABLE_SEGMENT == self.segments.len() {
            let slot = || Slot { handle: 0, next_free: NO_SLOT, object: None };
            self.segments.push(std::iter::repeat_with(slot).take(TABLE_SEGMENT).collect());
        }
        self.used += 1;
        Ok(index)
    }

    #[inline]
    fn slot(&self, handle: Handle<K>) -> Option<&Slot<T>> {
        let index = handle.index() as usize;
        let slot = self.segments.get(index / TABLE_SEGMENT)?.get(index % TABLE_SEGMENT)?;
        (slot.handle == handle.raw()).then_some(slot)
    }

    #[inline]
    fn place(&self, handle: Handle<K>) -> usize {
        handle.raw().wrapping_sub(K::NULL) as usize
    }

    /// The object that `handle` names, if it names one.
    #[inline]
    pub fn find(&self, handle: Handle<K>) -> Option<&T> {
        if handle.is_predefined() {
            self.predefined.get(self.place(handle)).and_then(Option::as_ref)
        } else {
            self.slot(handle).and_then(|slot| slot.object.as_ref())
        }
    }

    /// The object that `handle` names.
    ///
    /// # Errors
    /// The class of the kind, in the kind's usual parameter, saying what the handle was.
    #[inline]
    pub fn get(&self, handle: Handle<K>) -> Result<&T> {
        self.find(handle).ok_or_else(|| self.mistaken(handle))
    }

    /// The object that `handle` names, to be changed, if it names one.
    #[inline]
    pub fn find_mut(&mut self, handle: Handle<K>) -> Option<&mut T> {
        if handle.is_predefined() {
            let place = self.place(handle);
            return self.predefined.get_mut(place)?.as_mut();
        }
        let index = handle.index() as usize;
        let slot = self.segments.get_mut(index / TABLE_SEGMENT)?.get_mut(index % TABLE_SEGMENT)?;
        if slot.handle == handle.raw() { slot.object.as_mut() } else { None }
    }

    /// The object that `handle` names, to be changed.
    ///
    /// # Errors
    /// As [`Table::get`].
    #[inline]
    pub fn get_mut(&mut self, handle: Handle<K>) -> Result<&mut T> {
        if self.find(handle).is_none() {
            return Err(self.mistaken(handle));
        }
        Ok(self.find_mut(handle).expect("found above"))
    }

    /// Whether `handle` names an object.
    pub fn contains(&self, handle: Handle<K>) -> bool {
        self.get(handle).is_ok()
    }

    /// Takes the object out; its handle is invalid from now on.
    ///
    /// # Errors
    /// As [`Table::get`]; also when the object is predefined.
    pub fn remove(&mut self, handle: Handle<K>) -> Result<T> {
        self.get(handle)?;
        if handle.is_predefined() {
            let text = format!("names a predefined {}, which cannot be freed", K::NOUN);
            return Err(self.error(text));
        }
        let index = handle.index();
        let slot =
            &mut self.segments[index as usize / TABLE_SEGMENT][index as usize % TABLE_SEGMENT];
        slot.next_free = self.free;
        self.free = index;
        self.live -= 1;
        Ok(slot.object.take().expect("found above"))
    }

    /// Drops the object that `handle` names in its place, if it is not predefined and `report`
    /// has something to say of it: [`Table::remove`] without moving the object.
    #[inline]
    pub fn discard_if<R>(
        &mut self,
        handle: Handle<K>,
        report: impl FnOnce(&T) -> Option<R>,
    ) -> Option<R> {
        let index = handle.index();
        let segment = self.segments.get_mut(index as usize / TABLE_SEGMENT)?;
        let slot = segment.get_mut(index as usize % TABLE_SEGMENT)?;
        if handle.is_predefined() || slot.handle != handle.raw() {
            return None;
        }
        let reported = report(slot.object.as_ref()?)?;
        slot.object = None;
        slot.next_free = self.free;
        self.free = index;
        self.live -= 1;
        Some(reported)
    }

    /// Number of objects that are not predefined.
    pub fn len(&self) -> usize {
        self.live as usize
    }

    /// Whether there is no object but predefined ones.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// All objects with their handles, predefined ones first.
    pub fn iter(&self) -> impl Iterator<Item = (Handle<K>, &T)> {
        let predefined = (K::NULL..).zip(&self.predefined);
        let slots = self.segments.iter().flat_map(|segment| segment.iter());
        let others = slots.map(|slot| (slot.handle, &slot.object));
        predefined
            .chain(others)
            .filter_map(|(raw, object)| Some((Handle::from_raw(raw), object.as_ref()?)))
    }

    fn error(&self, text: String) -> Error {
        let facts = facts(K::NUMBER);
        Error::param(facts.class, facts.param, text)
    }

    /// What is wrong with a handle that names nothing here.
    #[cold]
    pub(crate) fn mistaken(&self, handle: Handle<K>) -> Error {
        let raw = handle.raw();
        let article = |noun: &str| {
            let vowel = noun.starts_with(['a', 'e', 'i', 'o', 'u']);
            format!("{} {noun}", if vowel { "an" } else { "a" })
        };
        let not =
            |kind| self.error(format!("is {}, not {}", article(noun(kind)), article(K::NOUN)));
        let special = |value, what| {
            let facts = facts(K::NUMBER);
            Error::special(facts.class, facts.param, value, what)
        };
        let nothing = |value| special(value, format!(", which names no {}", K::NOUN));
        if handle.is_null() {
            return self.error(format!("is {}", facts(K::NUMBER).null));
        }
        if handle.is_predefined() {
            return match predefined_kind(raw) {
                Some(kind) if kind != K::NUMBER => not(kind),
                _ => nothing(Special::Handle(raw)),
            };
        }
        let kind = handle.kind_number();
        if raw == FOREIGN_HANDLE {
            return nothing(Special::Foreign);
        }
        if kind != K::NUMBER {
            return match (1..=KINDS).contains(&kind) && raw >> 30 == 0 {
                true => not(kind),
                false => special(Special::Handle(raw), ", which is no handle".to_owned()),
            };
        }
        if handle.index() < self.used {
            let hint = "Do not use copies of a handle after freeing it.";
            return self.error("was freed".to_owned()).hint(hint);
        }
        nothing(Special::Handle(raw))
    }
}

/// What errors need to know of a kind.
struct Facts {
    class: ErrorClass,
    param: &'static str,
    null: &'static str,
}

/// The kinds of `handle.rs`, 1 to this.
const KINDS: u32 = 11;

/// Class, usual parameter name in the standard, and null handle of the kind with this number.
fn facts(kind: u32) -> Facts {
    let (class, param, null) = match kind {
        1 => (ErrorClass::COMM, "comm", "MPI_COMM_NULL"),
        2 => (ErrorClass::GROUP, "group", "MPI_GROUP_NULL"),
        3 => (ErrorClass::TYPE, "datatype", "MPI_DATATYPE_NULL"),
        4 => (ErrorClass::OP, "op", "MPI_OP_NULL"),
        5 => (ErrorClass::REQUEST, "request", "MPI_REQUEST_NULL"),
        6 => (ErrorClass::ERRHANDLER, "errhandler", "MPI_ERRHANDLER_NULL"),
        7 => (ErrorClass::INFO, "info", "MPI_INFO_NULL"),
        8 => (ErrorClass::WIN, "win", "MPI_WIN_NULL"),
        9 => (ErrorClass::FILE, "fh", "MPI_FILE_NULL"),
        10 => (ErrorClass::SESSION, "session", "MPI_SESSION_NULL"),
        11 => (ErrorClass::REQUEST, "message", "MPI_MESSAGE_NULL"),
        _ => (ErrorClass::KEYVAL, "keyval", "MPI_KEYVAL_INVALID"),
    };
    Facts { class, param, null }
}

/// The kind of the predefined handle `code` by the standard ABI's number ranges (MPI-5.0 §20).
fn predefined_kind(code: u32) -> Option<u32> {
    Some(match code {
        0x20..=0x3f => 4,
        0x100..=0x107 => 1,
        0x108..=0x10f => 2,
        0x110..=0x117 => 8,
        0x118..=0x11f => 9,
        0x120..=0x127 => 10,
        0x128..=0x12f => 11,
        0x130..=0x13f => 7,
        0x140..=0x14f => 6,
        0x180..=0x187 => 5,
        0x200..=0x3ff => 3,
        _ => return None,
    })
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;

//! Error handlers (MPI-5.0 §9.3): objects that say what becomes of an error.
//!
//! A handler is kept alive by the handle that the user got and by each communicator, window,
//! file or session it is attached to. The user's function is called by the C interface; here it
//! is an address.
//!
//! Communicators, windows and files say themselves which handler they have. Of some objects it is
//! said here, since threads that are not inside a call hear of errors, too: of sessions, and beside
//! what these say of `MPI_COMM_SELF` and `MPI_COMM_WORLD`, to which errors go that are no object's.

use std::collections::HashMap;

use crate::attributes::Convention;
use crate::error::{Error, ErrorClass, Result};
use crate::handle::{ErrhandlerHandle, ErrhandlerKind};
use crate::table::Table;

/// `MPI_ERRORS_ARE_FATAL`.
pub const ERRORS_ARE_FATAL: ErrhandlerHandle = ErrhandlerHandle::from_raw(0x141);
/// `MPI_ERRORS_ABORT`.
pub const ERRORS_ABORT: ErrhandlerHandle = ErrhandlerHandle::from_raw(0x142);
/// `MPI_ERRORS_RETURN`.
pub const ERRORS_RETURN: ErrhandlerHandle = ErrhandlerHandle::from_raw(0x143);
/// `MPI::ERRORS_THROW_EXCEPTIONS` of the others' bindings for C++. No standard has it.
pub const ERRORS_THROW: ErrhandlerHandle = ErrhandlerHandle::from_raw(0x144);

/// The kind of object that a handler was made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// `MPI_Comm_create_errhandler`.
    Comm,
    /// `MPI_Win_create_errhandler`.
    Win,
    /// `MPI_File_create_errhandler`.
    File,
    /// `MPI_Session_create_errhandler`.
    Session,
}

impl Target {
    fn noun(self) -> &'static str {
        match self {
            Target::Comm => "communicators",
            Target::Win => "windows",
            Target::File => "files",
            Target::Session => "sessions",
        }
    }
}

/// What a handler does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Aborts everything connected to this process (`MPI_ERRORS_ARE_FATAL`).
    Fatal,
    /// Aborts the processes of the object (`MPI_ERRORS_ABORT`).
    Abort,
    /// Returns the error code (`MPI_ERRORS_RETURN`).
    Return,
    /// What the face's binding for C++ has for it ([`ERRORS_THROW`]).
    Throw,
    /// Calls the function at this address, which was made for one kind of object.
    User(usize, Convention, Target),
}

struct Errhandler {
    action: Action,
    references: u32,
    /// Those of them that the program has as handles. It cannot give up those of objects, whatever it frees twice.
    handed_out: u32,
}

/// All error handlers of a process.
pub struct Errhandlers {
    table: Table<ErrhandlerKind, Errhandler>,
    /// The handlers of the objects with these handles.
    attached: HashMap<u32, ErrhandlerHandle>,
}

impl Default for Errhandlers {
    fn default() -> Self {
        Errhandlers::new()
    }
}

impl Errhandlers {
    /// The predefined ones.
    pub fn new() -> Errhandlers {
        let mut table = Table::new();
        for (handle, action) in [
            (ERRORS_ARE_FATAL, Action::Fatal),
            (ERRORS_ABORT, Action::Abort),
            (ERRORS_RETURN, Action::Return),
            (ERRORS_THROW, Action::Throw),
        ] {
            table.set_predefined(handle.raw(), Errhandler { action, references: 1, handed_out: 0 });
        }
        Errhandlers { table, attached: HashMap::new() }
    }

    /// Makes a handler that calls the function at `address` (`MPI_*_create_errhandler`); the
    /// handle counts as one reference.
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM` when no handle is left.
    pub fn create(
        &mut self,
        address: usize,
        convention: Convention,
        target: Target,
    ) -> Result<ErrhandlerHandle> {
        let action = Action::User(address, convention, target);
        self.table.insert(Errhandler { action, references: 1, handed_out: 1 })
    }

    /// What the handler does.
    ///
    /// # Errors
    /// `MPI_ERR_ERRHANDLER` saying what the handle was.
    pub fn get(&self, handle: ErrhandlerHandle) -> Result<Action> {
        Ok(self.table.get(handle)?.action)
    }

    /// Counts a reference from an object of kind `target` that the handler is attached to
    /// (`MPI_*_set_errhandler`).
    ///
    /// # Errors
    /// `MPI_ERR_ERRHANDLER` as [`Errhandlers::get`]; also when it was made for another kind.
    pub fn attach(&mut self, handle: ErrhandlerHandle, target: Target) -> Result<()> {
        self.get_for(handle, target)?;
        self.retain(handle)
    }

    /// What the handler does for an object of kind `target`.
    ///
    /// # Errors
    /// As [`Errhandlers::attach`].
    pub fn get_for(&self, handle: ErrhandlerHandle, target: Target) -> Result<Action> {
        let action = self.get(handle)?;
        if let Action::User(_, _, made_for) = action
            && made_for != target
        {
            let text = format!("is for {}, not for {}", made_for.noun(), target.noun());
            return Err(Error::param(ErrorClass::ERRHANDLER, "errhandler", text));
        }
        Ok(action)
    }

    /// Counts one more reference: a duplicate has its original's handler.
    ///
    /// # Errors
    /// As [`Errhandlers::get`].
    pub fn retain(&mut self, handle: ErrhandlerHandle) -> Result<()> {
        self.table.get_mut(handle)?.references += 1;
        Ok(())
    }

    /// Hands out a handle to the program, which frees it (`MPI_*_get_errhandler`).
    ///
    /// # Errors
    /// As [`Errhandlers::get`].
    pub fn hand_out(&mut self, handle: ErrhandlerHandle) -> Result<()> {
        self.retain(handle)?;
        if !handle.is_predefined() {
            self.table.get_mut(handle)?.handed_out += 1;
        }
        Ok(())
    }

    /// `MPI_Errhandler_free`: takes back a handle that the program has. Predefined handlers stay.
    ///
    /// # Errors
    /// As [`Errhandlers::get`]; the program has freed all handles that it had, and only objects have it still.
    pub fn free(&mut self, handle: ErrhandlerHandle) -> Result<()> {
        let handler = self.table.get_mut(handle)?;
        if !handle.is_predefined() {
            if handler.handed_out == 0 {
                crate::fail!(ERRHANDLER, "errhandler", "was freed, and is kept for objects alone");
            }
            handler.handed_out -= 1;
        }
        self.release(handle)
    }

    /// Gives one reference up (an object lets go); the last one ends the handler. Predefined handlers stay.
    ///
    /// # Errors
    /// As [`Errhandlers::get`].
    pub fn release(&mut self, handle: ErrhandlerHandle) -> Result<()> {
        let handler = self.table.get_mut(handle)?;
        if handle.is_predefined() {
            return Ok(());
        }
        handler.references -= 1;
        if handler.references == 0 {
            self.table.remove(handle)?;
        }
        Ok(())
    }

    /// Says that the object of this kind with the handle `object` has the handler from now on; the
    /// one that it had is given up.
    ///
    /// # Errors
    /// As [`Errhandlers::attach`].
    pub fn set_of(&mut self, object: u32, handler: ErrhandlerHandle, target: Target) -> Result<()> {
        self.attach(handler, target)?;
        match self.attached.insert(object, handler) {
            Some(old) => self.release(old),
            None => Ok(()),
        }
    }

    /// The handler of an object that was told by [`Errhandlers::set_of`].
    pub fn of(&self, object: u32) -> Option<ErrhandlerHandle> {
        self.attached.get(&object).copied()
    }

    /// What that handler does.
    pub fn action_of(&self, object: u32) -> Option<Action> {
        self.of(object).and_then(|handler| self.get(handler).ok())
    }

    /// The object is gone, and lets go of its handler.
    pub fn forget(&mut self, object: u32) {
        if let Some(handler) = self.attached.remove(&object) {
            // It is there: the object kept it.
            let _ = self.release(handler);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_object_has_is_not_the_program_s_to_free() {
        let mut handlers = Errhandlers::new();
        let handle = handlers.create(1, Convention::C, Target::Comm).unwrap();
        handlers.attach(handle, Target::Comm).unwrap();
        handlers.free(handle).unwrap();
        handlers.free(handle).unwrap_err();
        handlers.hand_out(handle).unwrap();
        handlers.free(handle).unwrap();
        handlers.get(handle).expect("the object's");
        handlers.release(handle).unwrap();
        handlers.get(handle).unwrap_err();
    }

    #[test]
    fn a_handler_lives_as_long_as_it_is_attached() {
        let mut handlers = Errhandlers::new();
        let handle = handlers.create(77, Convention::C, Target::Comm).unwrap();
        handlers.attach(handle, Target::Comm).unwrap();
        handlers.release(handle).unwrap();
        assert_eq!(handlers.get(handle).unwrap(), Action::User(77, Convention::C, Target::Comm));
        handlers.release(handle).unwrap();
        let error = handlers.get(handle).unwrap_err();
        assert_eq!(error.class(), ErrorClass::ERRHANDLER);
        assert!(handlers.release(handle).is_err());
    }

    #[test]
    fn an_object_keeps_the_handler_that_was_told_here() {
        let mut handlers = Errhandlers::new();
        let object = 0x120;
        assert_eq!(handlers.action_of(object), None);
        let handle = handlers.create(5, Convention::C, Target::Session).unwrap();
        handlers.set_of(object, handle, Target::Session).unwrap();
        assert!(handlers.set_of(object, handle, Target::Win).is_err());
        handlers.release(handle).unwrap();
        let action = Action::User(5, Convention::C, Target::Session);
        assert_eq!((handlers.of(object), handlers.action_of(object)), (Some(handle), Some(action)));
        handlers.set_of(object, handle, Target::Session).unwrap();
        assert_eq!(handlers.get(handle).unwrap(), action, "setting it anew does not end it");
        handlers.set_of(object, ERRORS_RETURN, Target::Session).unwrap();
        assert!(handlers.get(handle).is_err(), "nobody has it any more");
        handlers.forget(object);
        assert_eq!(handlers.of(object), None);
    }

    #[test]
    fn predefined_handlers_fit_everything_and_never_go() {
        let mut handlers = Errhandlers::new();
        for target in [Target::Comm, Target::Win, Target::File, Target::Session] {
            handlers.attach(ERRORS_RETURN, target).unwrap();
        }
        (0..9).for_each(|_| handlers.release(ERRORS_RETURN).unwrap());
        assert_eq!(handlers.get(ERRORS_RETURN).unwrap(), Action::Return);
        assert_eq!(
            handlers.release(ErrhandlerHandle::NULL).unwrap_err().what(),
            "is MPI_ERRHANDLER_NULL"
        );
    }

    #[test]
    fn a_handler_for_files_does_not_fit_windows() {
        let mut handlers = Errhandlers::new();
        let handle = handlers.create(1, Convention::C, Target::File).unwrap();
        let error = handlers.attach(handle, Target::Win).unwrap_err();
        assert_eq!(error.what(), "is for files, not for windows");
    }
}

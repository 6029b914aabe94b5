//! `MPI_COMM_SPAWN` and `MPI_COMM_SPAWN_MULTIPLE` (MPI-5.0 §11.8): arrays of strings. Those of the
//! root alone are looked at; what others give may be anything.

use std::ffi::{CString, c_char, c_int};
use std::ptr;

use super::texts::{stripped, until_blank};
use super::{
    Fortran, Special, comm, comm_null, comm_out, copied, info, infos, is_root, length, owners,
};
use crate::glue;
use crate::procedure::Procedure;

/// Strings as C wants them: an array of pointers that ends with a null one.
struct Pointers {
    _texts: Vec<CString>,
    pointers: Vec<*mut c_char>,
}

impl Pointers {
    fn of(texts: Vec<CString>) -> Pointers {
        let mut pointers: Vec<*mut c_char> =
            texts.iter().map(|text| text.as_ptr().cast_mut()).collect();
        pointers.push(ptr::null_mut());
        Pointers { _texts: texts, pointers }
    }
}

fn is_argv_null<F: Fortran>(argv: *const c_char) -> bool {
    F::special(argv.cast()) == Some(Special::ArgvNull)
}

/// `MPI_COMM_SPAWN`.
pub unsafe fn comm_spawn<F: Fortran>(
    command: *const c_char,
    argv: *const c_char,
    maxprocs: *const c_int,
    info_handle: *const c_int,
    root: *const c_int,
    parent: *const c_int,
    intercomm: *mut c_int,
    array_of_errcodes: *mut c_int,
    ierror: *mut c_int,
    command_length: usize,
    argv_length: usize,
) {
    // SAFETY: the program's variables; the root's argv ends with a blank string.
    unsafe {
        let is_root = is_root::<F>(*root, *parent);
        let command = stripped(command, if is_root { command_length } else { 0 });
        let mut words = (is_root && !is_argv_null::<F>(argv))
            .then(|| Pointers::of(until_blank(argv, argv_length, argv_length)));
        let words = words.as_mut().map_or(ptr::null_mut(), |words| words.pointers.as_mut_ptr());
        let mut made = comm_null::<F>();
        let code = glue::comm_spawn::<F>(
            command.as_ptr(),
            words,
            *maxprocs,
            info::<F>(*info_handle),
            *root,
            comm::<F>(*parent),
            &mut made,
            super::weights::<F>(array_of_errcodes),
        );
        if code == 0 {
            *intercomm = comm_out::<F>(made);
        }
        super::done(ierror, code);
    }
}

/// `MPI_COMM_SPAWN_MULTIPLE`: `array_of_argv(count, *)`, column by column.
pub unsafe fn comm_spawn_multiple<F: Fortran>(
    count: *const c_int,
    array_of_commands: *const c_char,
    array_of_argv: *const c_char,
    array_of_maxprocs: *mut c_int,
    array_of_info: *mut c_int,
    root: *const c_int,
    parent: *const c_int,
    intercomm: *mut c_int,
    array_of_errcodes: *mut c_int,
    ierror: *mut c_int,
    commands_length: usize,
    argv_length: usize,
) {
    // SAFETY: the program's variables.
    unsafe {
        let is_root = is_root::<F>(*root, *parent);
        let commands = if is_root { length(i64::from(*count)) } else { 0 };
        let names = (0..commands)
            .map(|index| stripped(array_of_commands.add(index * commands_length), commands_length));
        let mut names = Pointers::of(names.collect());
        let mut words: Vec<Pointers> = Vec::new();
        if is_root && !is_argv_null::<F>(array_of_argv) {
            let row = |index: usize| array_of_argv.add(index * argv_length);
            let stride = argv_length * commands;
            let all = (0..commands)
                .map(|index| Pointers::of(until_blank(row(index), argv_length, stride)));
            words = all.collect();
        }
        let mut rows: Vec<*mut *mut c_char> =
            words.iter_mut().map(|words| words.pointers.as_mut_ptr()).collect();
        let argvs = if rows.is_empty() { ptr::null_mut() } else { rows.as_mut_ptr() };
        let infos = infos::new::<F>(array_of_info, commands);
        let owner = || owners::comm::<F>(*parent);
        let procedure = Procedure::CommSpawnMultiple;
        let Some(mut infos) = copied::<F, _>(procedure, owner, infos, ierror) else { return };
        let mut made = comm_null::<F>();
        let code = glue::comm_spawn_multiple::<F>(
            *count,
            names.pointers.as_mut_ptr(),
            argvs,
            array_of_maxprocs,
            infos.as_mut_ptr(),
            *root,
            comm::<F>(*parent),
            &mut made,
            super::weights::<F>(array_of_errcodes),
        );
        if code == 0 {
            *intercomm = comm_out::<F>(made);
        }
        super::done(ierror, code);
    }
}

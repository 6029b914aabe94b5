//! Errors of MPI procedures: what was wrong, in which argument, and what to do.
//!
//! An error is built where it is detected, by [`Error::new`] and its refinements; the place
//! (rank, host, procedure, argument number) is added once, at the C interface, which also words
//! the one line that a user reads. Classes and their numbers are those of MPI-5.0 §9.4 and its
//! ABI chapter; a face maps them to the numbers of its own ABI.

use std::borrow::Cow;
use std::fmt;

use crate::constants::Special;

/// How sentences end.
const ENDS: [char; 3] = ['.', '!', '?'];

/// A text as a sentence that others may follow: it gets its full stop, unless it ends like a sentence already.
pub fn sentence(text: &str) -> Cow<'_, str> {
    match text.ends_with(ENDS) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("{text}.")),
    }
}

/// Several reasons behind one another, of which some may end like sentences.
pub fn listed(reasons: &[String]) -> String {
    let mut all = String::new();
    for reason in reasons {
        all.push_str(match () {
            () if all.is_empty() => "",
            () if all.ends_with(ENDS) => " ",
            () => "; ",
        });
        all.push_str(reason);
    }
    all
}

/// An error class (MPI-5.0 §9.4); the number is the standard ABI's.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorClass(pub i32);

impl ErrorClass {
    /// The class that a peer named; one that the standard does not know is `MPI_ERR_OTHER`, and so
    /// is no error.
    pub fn from_wire(number: i32) -> ErrorClass {
        let class = ErrorClass(number);
        match class.name() {
            Some(_) if class != ErrorClass::SUCCESS => class,
            _ => ErrorClass::OTHER,
        }
    }
}

macro_rules! classes {
    ($($short:ident = $value:literal, $name:literal, $text:literal;)*) => {
        impl ErrorClass {
            $(#[doc = concat!("`", $name, "`: ", $text, ".")]
            pub const $short: ErrorClass = ErrorClass($value);)*

            /// Every predefined class, in the order of its number.
            pub const ALL: &'static [ErrorClass] = &[$(ErrorClass::$short),*];

            /// The constant's name in the standard; `None` for a class added by the user.
            pub fn name(self) -> Option<&'static str> {
                match self.0 { $($value => Some($name),)* _ => None }
            }

            /// What the class means, in a few words; `None` for a class added by the user.
            pub fn meaning(self) -> Option<&'static str> {
                match self.0 { $($value => Some($text),)* _ => None }
            }
        }
    };
}

classes! {
    SUCCESS = 0, "MPI_SUCCESS", "no error";
    BUFFER = 1, "MPI_ERR_BUFFER", "invalid buffer pointer";
    COUNT = 2, "MPI_ERR_COUNT", "invalid count argument";
    TYPE = 3, "MPI_ERR_TYPE", "invalid datatype";
    TAG = 4, "MPI_ERR_TAG", "invalid tag";
    COMM = 5, "MPI_ERR_COMM", "invalid communicator";
    RANK = 6, "MPI_ERR_RANK", "invalid rank";
    REQUEST = 7, "MPI_ERR_REQUEST", "invalid request";
    ROOT = 8, "MPI_ERR_ROOT", "invalid root";
    GROUP = 9, "MPI_ERR_GROUP", "invalid group";
    OP = 10, "MPI_ERR_OP", "invalid reduction operation";
    TOPOLOGY = 11, "MPI_ERR_TOPOLOGY", "invalid topology";
    DIMS = 12, "MPI_ERR_DIMS", "invalid dimensions";
    ARG = 13, "MPI_ERR_ARG", "invalid argument";
    UNKNOWN = 14, "MPI_ERR_UNKNOWN", "unknown error";
    TRUNCATE = 15, "MPI_ERR_TRUNCATE", "message longer than the receive buffer";
    OTHER = 16, "MPI_ERR_OTHER", "an error of no other class";
    INTERN = 17, "MPI_ERR_INTERN", "an error inside the library";
    PENDING = 18, "MPI_ERR_PENDING", "operation not yet complete";
    IN_STATUS = 19, "MPI_ERR_IN_STATUS", "the error is in the statuses";
    ACCESS = 20, "MPI_ERR_ACCESS", "permission denied";
    AMODE = 21, "MPI_ERR_AMODE", "invalid access mode";
    ASSERT = 22, "MPI_ERR_ASSERT", "invalid assertion";
    BAD_FILE = 23, "MPI_ERR_BAD_FILE", "invalid file name";
    BASE = 24, "MPI_ERR_BASE", "invalid base address";
    CONVERSION = 25, "MPI_ERR_CONVERSION", "data conversion failed";
    DISP = 26, "MPI_ERR_DISP", "invalid displacement";
    DUP_DATAREP = 27, "MPI_ERR_DUP_DATAREP", "data representation already defined";
    FILE_EXISTS = 28, "MPI_ERR_FILE_EXISTS", "file exists";
    FILE_IN_USE = 29, "MPI_ERR_FILE_IN_USE", "file in use";
    FILE = 30, "MPI_ERR_FILE", "invalid file handle";
    INFO_KEY = 31, "MPI_ERR_INFO_KEY", "info key too long or empty";
    INFO_NOKEY = 32, "MPI_ERR_INFO_NOKEY", "no such info key";
    INFO_VALUE = 33, "MPI_ERR_INFO_VALUE", "info value too long";
    INFO = 34, "MPI_ERR_INFO", "invalid info object";
    IO = 35, "MPI_ERR_IO", "input or output failed";
    KEYVAL = 36, "MPI_ERR_KEYVAL", "invalid attribute key";
    LOCKTYPE = 37, "MPI_ERR_LOCKTYPE", "invalid lock type";
    NAME = 38, "MPI_ERR_NAME", "service name not published";
    NO_MEM = 39, "MPI_ERR_NO_MEM", "out of memory or of handles";
    NOT_SAME = 40, "MPI_ERR_NOT_SAME", "argument differs between processes";
    NO_SPACE = 41, "MPI_ERR_NO_SPACE", "no space left";
    NO_SUCH_FILE = 42, "MPI_ERR_NO_SUCH_FILE", "no such file";
    PORT = 43, "MPI_ERR_PORT", "invalid port name";
    QUOTA = 44, "MPI_ERR_QUOTA", "quota exceeded";
    READ_ONLY = 45, "MPI_ERR_READ_ONLY", "read-only file or file system";
    RMA_ATTACH = 46, "MPI_ERR_RMA_ATTACH", "memory cannot be attached";
    RMA_CONFLICT = 47, "MPI_ERR_RMA_CONFLICT", "conflicting accesses to a window";
    RMA_RANGE = 48, "MPI_ERR_RMA_RANGE", "target memory not part of the window";
    RMA_SHARED = 49, "MPI_ERR_RMA_SHARED", "memory cannot be shared";
    RMA_SYNC = 50, "MPI_ERR_RMA_SYNC", "wrong synchronization of a window";
    SERVICE = 51, "MPI_ERR_SERVICE", "invalid service name";
    SIZE = 52, "MPI_ERR_SIZE", "invalid size";
    SPAWN = 53, "MPI_ERR_SPAWN", "processes could not be spawned";
    UNSUPPORTED_DATAREP = 54, "MPI_ERR_UNSUPPORTED_DATAREP", "unsupported data representation";
    UNSUPPORTED_OPERATION = 55, "MPI_ERR_UNSUPPORTED_OPERATION", "operation not supported";
    WIN = 56, "MPI_ERR_WIN", "invalid window";
    RMA_FLAVOR = 57, "MPI_ERR_RMA_FLAVOR", "wrong flavor of window";
    PROC_ABORTED = 58, "MPI_ERR_PROC_ABORTED", "a process of the job has aborted";
    VALUE_TOO_LARGE = 59, "MPI_ERR_VALUE_TOO_LARGE", "value too large for its type";
    SESSION = 60, "MPI_ERR_SESSION", "invalid session";
    ERRHANDLER = 61, "MPI_ERR_ERRHANDLER", "invalid error handler";
    ABI = 62, "MPI_ERR_ABI", "invalid use of the ABI";
    T_CANNOT_INIT = 1001, "MPI_T_ERR_CANNOT_INIT", "the interface for tools cannot be begun";
    T_NOT_ACCESSIBLE = 1002, "MPI_T_ERR_NOT_ACCESSIBLE", "not accessible at this time";
    T_NOT_INITIALIZED = 1003, "MPI_T_ERR_NOT_INITIALIZED", "the interface for tools has not been begun";
    T_NOT_SUPPORTED = 1004, "MPI_T_ERR_NOT_SUPPORTED", "not supported by the interface for tools";
    T_MEMORY = 1005, "MPI_T_ERR_MEMORY", "out of memory in the interface for tools";
    T_INVALID = 1006, "MPI_T_ERR_INVALID", "invalid use of the interface for tools";
    T_INVALID_INDEX = 1007, "MPI_T_ERR_INVALID_INDEX", "no variable, event or category has this index";
    T_INVALID_ITEM = 1008, "MPI_T_ERR_INVALID_ITEM", "no item of an enumeration has this index";
    T_INVALID_SESSION = 1009, "MPI_T_ERR_INVALID_SESSION", "invalid session of performance variables";
    T_INVALID_HANDLE = 1010, "MPI_T_ERR_INVALID_HANDLE", "invalid handle of the interface for tools";
    T_INVALID_NAME = 1011, "MPI_T_ERR_INVALID_NAME", "no variable, event or category has this name";
    T_OUT_OF_HANDLES = 1012, "MPI_T_ERR_OUT_OF_HANDLES", "no more handles of the interface for tools";
    T_OUT_OF_SESSIONS = 1013, "MPI_T_ERR_OUT_OF_SESSIONS", "no more sessions of performance variables";
    T_CVAR_SET_NOT_NOW = 1014, "MPI_T_ERR_CVAR_SET_NOT_NOW", "control variable cannot be set at this time";
    T_CVAR_SET_NEVER = 1015, "MPI_T_ERR_CVAR_SET_NEVER", "control variable cannot be set";
    T_PVAR_NO_WRITE = 1016, "MPI_T_ERR_PVAR_NO_WRITE", "performance variable cannot be written";
    T_PVAR_NO_STARTSTOP = 1017, "MPI_T_ERR_PVAR_NO_STARTSTOP", "performance variable cannot be started or stopped";
    T_PVAR_NO_ATOMIC = 1018, "MPI_T_ERR_PVAR_NO_ATOMIC", "performance variable cannot be read and reset in one";
    PROC_FAILED = 1101, "MPI_ERR_PROC_FAILED", "a process has failed";
    PROC_FAILED_PENDING = 1102, "MPI_ERR_PROC_FAILED_PENDING", "a process has failed that might have sent";
    REVOKED = 1103, "MPI_ERR_REVOKED", "the object has been revoked";
}

impl fmt::Debug for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "error class {}", self.0),
        }
    }
}

/// Why a procedure failed. One pointer wide, since results travel through every call.
#[derive(Clone)]
pub struct Error(Box<Detail>);

#[derive(Clone, Debug)]
struct Detail {
    class: ErrorClass,
    param: Option<&'static str>,
    special: Option<Special>,
    secondary: bool,
    out_of_reach: Option<u32>,
    what: Cow<'static, str>,
    hint: Cow<'static, str>,
}

/// The result of everything that can fail inside the library.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of `class`; `what` says what was wrong, as the end of a sentence.
    #[cold]
    pub fn new(class: ErrorClass, what: impl Into<Cow<'static, str>>) -> Error {
        Error(Box::new(Detail {
            class,
            param: None,
            special: None,
            secondary: false,
            out_of_reach: None,
            what: what.into(),
            hint: Cow::Borrowed(""),
        }))
    }

    /// An error in the parameter that the standard calls `param`; `what` continues the sentence
    /// "argument 4 (dest) …", as in "is 9, but the communicator has ranks 0 to 7".
    #[cold]
    pub fn param(
        class: ErrorClass,
        param: &'static str,
        what: impl Into<Cow<'static, str>>,
    ) -> Error {
        let mut error = Error::new(class, what);
        error.0.param = Some(param);
        error
    }

    /// An error in a parameter whose value ABIs write in their own ways; `what` continues the sentence
    /// "argument 4 (dest) is 9", as in ", but the communicator has ranks 0 to 7".
    #[cold]
    pub fn special(
        class: ErrorClass,
        param: &'static str,
        value: Special,
        what: impl Into<Cow<'static, str>>,
    ) -> Error {
        let mut error = Error::param(class, param, what);
        error.0.special = Some(value);
        error
    }

    /// The same error with advice on what to do, a whole sentence.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Error {
        self.0.hint = hint.into();
        self
    }

    /// The same error as one whose reason another process tells.
    #[must_use]
    pub fn secondary(mut self) -> Error {
        self.0.secondary = true;
        self
    }

    /// Whether another process tells the reason.
    pub fn is_secondary(&self) -> bool {
        self.0.secondary
    }

    /// The same error as one of a rank of the job that cannot be reached.
    #[must_use]
    pub fn out_of_reach(mut self, rank: u32) -> Error {
        self.0.out_of_reach = Some(rank);
        self
    }

    /// The rank that cannot be reached, if that is the reason.
    pub fn unreached(&self) -> Option<u32> {
        self.0.out_of_reach
    }

    /// The error's class.
    pub fn class(&self) -> ErrorClass {
        self.0.class
    }

    /// The offending parameter by its name in the standard, if the error lies in one.
    pub fn parameter(&self) -> Option<&'static str> {
        self.0.param
    }

    /// The value of the offending parameter if that is to be said before the rest; see [`Error::special`].
    pub fn value(&self) -> Option<Special> {
        self.0.special
    }

    /// What was wrong; see [`Error::new`] and [`Error::param`] for how it is to be read.
    pub fn what(&self) -> &str {
        &self.0.what
    }

    /// What to do; empty when there is nothing to advise.
    pub fn advice(&self) -> &str {
        &self.0.hint
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(param) = self.0.param {
            write!(f, "{param} ")?;
        }
        if let Some(value) = self.0.special {
            match value.number() {
                Some(number) => write!(f, "is {number}")?,
                None => f.write_str("is a value")?,
            }
        }
        write!(f, "{} [{:?}]", self.0.what, self.0.class)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

/// Leaves the function with an [`Error`]: `fail!(COUNT, "count", "is {count}, but …")` for one in
/// a parameter, `fail!(OTHER, "…")` for any other.
#[macro_export]
macro_rules! fail {
    ($class:ident, $param:literal, $($text:tt)+) => {
        return Err($crate::error::Error::param(
            $crate::error::ErrorClass::$class, $param, format!($($text)+)))
    };
    ($class:ident, $($text:tt)+) => {
        return Err($crate::error::Error::new(
            $crate::error::ErrorClass::$class, format!($($text)+)))
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_once() {
        let ends = ["no card", "no card.", "is there a card?", "no!"]
            .map(|text| sentence(text).into_owned());
        assert_eq!(ends, ["no card.", "no card.", "is there a card?", "no!"]);
        let reasons = ["no card", "is it off?", "no socket", "no luck"].map(str::to_owned);
        assert_eq!(listed(&reasons), "no card; is it off? no socket; no luck");
        assert_eq!(listed(&[]), "");
    }
}

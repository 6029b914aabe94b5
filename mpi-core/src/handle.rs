//! Handles of the core: 30 bits that name an object (decision 17).
//!
//! A predefined object's handle is its number in the standard ABI (below 0x400). Every other
//! handle is kind (4 bits, never 0), generation (4 bits), index (22 bits), so that it is a
//! positive `int`, and a freed or foreign one is recognised for what it is.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

/// Handles below this number are predefined objects of the standard ABI.
pub const PREDEFINED_END: u32 = 0x400;
const INDEX_BITS: u32 = 22;
const GENERATION_BITS: u32 = 4;
/// The number of objects of one kind that can be alive at once.
pub const INDEX_END: u32 = 1 << INDEX_BITS;

/// What an argument becomes that can be no handle: not a predefined object, and of no kind, so that every look-up
/// reports it.
pub const FOREIGN_HANDLE: u32 = (1 << 26) - 1;

/// What a handle names. The discriminant is the kind field of its handles.
pub trait Kind: 'static {
    /// Number of the kind, 1 to 15.
    const NUMBER: u32;
    /// The null handle, where the standard has one.
    const NULL: u32;
    /// What messages call an object of this kind.
    const NOUN: &'static str;
}

macro_rules! kinds {
    ($($name:ident, $alias:ident = $number:literal, null $null:literal, $noun:literal;)*) => {
        $(
            #[doc = concat!("Marker of handles that name a ", $noun, ".")]
            #[derive(Clone, Copy, PartialEq, Eq, Debug)]
            pub enum $name {}
            impl Kind for $name {
                const NUMBER: u32 = $number;
                const NULL: u32 = $null;
                const NOUN: &'static str = $noun;
            }
            #[doc = concat!("Handle of a ", $noun, ".")]
            pub type $alias = Handle<$name>;
        )*

        /// What messages call an object with the kind number `number`.
        pub fn noun(number: u32) -> &'static str {
            match number { $($number => $noun,)* _ => "object" }
        }
    };
}

kinds! {
    CommKind, CommHandle = 1, null 0x100, "communicator";
    GroupKind, GroupHandle = 2, null 0x108, "group";
    DatatypeKind, DatatypeHandle = 3, null 0x200, "datatype";
    OpKind, OpHandle = 4, null 0x20, "reduction operation";
    RequestKind, RequestHandle = 5, null 0x180, "request";
    ErrhandlerKind, ErrhandlerHandle = 6, null 0x140, "error handler";
    InfoKind, InfoHandle = 7, null 0x130, "info object";
    WinKind, WinHandle = 8, null 0x110, "window";
    FileKind, FileHandle = 9, null 0x118, "file";
    SessionKind, SessionHandle = 10, null 0x120, "session";
    MessageKind, MessageHandle = 11, null 0x128, "matched message";
}

/// A handle of kind `K`. Any bit pattern may come from a program; only a table says whether it
/// names a live object.
pub struct Handle<K>(u32, PhantomData<fn() -> K>);

impl<K: Kind> Handle<K> {
    /// The null handle of the kind.
    pub const NULL: Handle<K> = Handle(K::NULL, PhantomData);

    /// A handle with this value, not checked in any way.
    #[inline]
    pub const fn from_raw(raw: u32) -> Handle<K> {
        Handle(raw, PhantomData)
    }

    /// The handle of the object at `index` in its `generation`.
    #[inline]
    pub fn new(index: u32, generation: u32) -> Handle<K> {
        debug_assert!(index < INDEX_END);
        let generation = generation & ((1 << GENERATION_BITS) - 1);
        Handle(
            K::NUMBER << (INDEX_BITS + GENERATION_BITS) | generation << INDEX_BITS | index,
            PhantomData,
        )
    }

    /// The 30-bit value.
    #[inline]
    pub const fn raw(self) -> u32 {
        self.0
    }

    /// Whether this is the null handle of its kind.
    #[inline]
    pub const fn is_null(self) -> bool {
        self.0 == K::NULL
    }

    /// Whether the handle names a predefined object (or is null).
    #[inline]
    pub const fn is_predefined(self) -> bool {
        self.0 < PREDEFINED_END
    }

    /// The index field.
    #[inline]
    pub const fn index(self) -> u32 {
        self.0 & (INDEX_END - 1)
    }

    /// The generation field.
    #[inline]
    pub const fn generation(self) -> u32 {
        self.0 >> INDEX_BITS & ((1 << GENERATION_BITS) - 1)
    }

    /// The kind field; 0 for predefined handles.
    #[inline]
    pub const fn kind_number(self) -> u32 {
        self.0 >> (INDEX_BITS + GENERATION_BITS)
    }
}

impl<K> Clone for Handle<K> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Handle<K> {}
impl<K> PartialEq for Handle<K> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<K> Eq for Handle<K> {}
impl<K> Hash for Handle<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}
impl<K: Kind> fmt::Debug for Handle<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:#x}", K::NOUN, self.0)
    }
}

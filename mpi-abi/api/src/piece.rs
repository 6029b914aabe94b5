//! What each parameter adds to a function of the glue.

/// What one parameter contributes to the glue of its procedure, in the order of use.
#[derive(Default)]
pub(crate) struct Piece {
    /// Statements before the body.
    pub(crate) before: Vec<String>,
    /// Arguments of the body.
    pub(crate) arguments: Vec<String>,
    /// Statements after the body, also when it failed.
    pub(crate) always: Vec<String>,
    /// Statements after the body's success.
    pub(crate) after: Vec<String>,
}

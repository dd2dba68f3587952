//! An error with its causes, as the log gets it. A caller gets [`crate::failure::Failure`] instead.

/// An error with its causes, for the log: `outer: inner: innermost`.
pub struct Chain<'a>(pub &'a (dyn std::error::Error + 'static));

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut next = Some(self.0);
        let mut separator = "";
        while let Some(error) = next {
            write!(f, "{separator}{error}")?;
            separator = ": ";
            next = error.source();
        }
        Ok(())
    }
}

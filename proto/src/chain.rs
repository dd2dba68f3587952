//! An error with its causes, for the log. Callers get a [`crate::failure::Failure`] instead.

/// An error with its causes: `outer: inner: innermost`. A cause that repeats the text of the one before
/// it is omitted, because some libraries repeat what they wrap.
pub struct Chain<'a>(pub &'a (dyn std::error::Error + 'static));

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut last = self.0.to_string();
        f.write_str(&last)?;
        let mut next = self.0.source();
        while let Some(error) = next {
            let text = error.to_string();
            if text != last {
                write!(f, ": {text}")?;
            }
            last = text;
            next = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Link(&'static str, #[source] Option<Box<Link>>);

    #[test]
    fn a_repeated_cause_is_omitted() {
        let chain = ["gone", "broken pipe", "broken pipe", "gone"];
        let links = chain.into_iter().rev();
        let outer = links.fold(None, |cause, says| Some(Box::new(Link(says, cause))));
        let text = Chain(outer.unwrap().as_ref()).to_string();
        assert_eq!(text, "gone: broken pipe: gone");
    }
}

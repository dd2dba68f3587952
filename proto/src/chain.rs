//! An error with its causes, as the log gets it. A caller gets [`crate::failure::Failure`] instead.

/// An error with its causes, for the log: `outer: inner: innermost`. A cause that says nothing else
/// than the one before it is left out: some libraries repeat what they wrap.
pub struct Chain<'a>(pub &'a (dyn std::error::Error + 'static));

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut said = self.0.to_string();
        f.write_str(&said)?;
        let mut next = self.0.source();
        while let Some(error) = next {
            let says = error.to_string();
            if says != said {
                write!(f, ": {says}")?;
            }
            said = says;
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
    fn a_cause_that_repeats_the_one_before_it_is_left_out() {
        let chain = ["gone", "broken pipe", "broken pipe", "gone"];
        let links = chain.into_iter().rev();
        let outer = links.fold(None, |cause, says| Some(Box::new(Link(says, cause))));
        let text = Chain(outer.unwrap().as_ref()).to_string();
        assert_eq!(text, "gone: broken pipe: gone");
    }
}

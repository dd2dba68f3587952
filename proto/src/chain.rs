//! An error with its causes, for the log. Callers get a [`crate::failure::Failure`] instead.

/// An error with its causes, for the log: `outer: inner: innermost`, as [`texts`] has them.
pub struct Chain<'a>(pub &'a (dyn std::error::Error + 'static));

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&texts(self.0).join(": "))
    }
}

/// The texts of an error and of its causes, outermost first. A cause is left out if the text before
/// it contains its own: some libraries write what they wrap into their message.
pub fn texts(error: &(dyn std::error::Error + 'static)) -> Vec<String> {
    let mut texts = vec![error.to_string()];
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if texts.last().is_none_or(|last| !last.contains(&text)) {
            texts.push(text);
        }
        next = cause.source();
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Link(&'static str, #[source] Option<Box<Link>>);

    fn shown<const N: usize>(chain: [&'static str; N]) -> String {
        let links = chain.into_iter().rev();
        let outer = links.fold(None, |cause, says| Some(Box::new(Link(says, cause))));
        Chain(outer.unwrap().as_ref()).to_string()
    }

    #[test]
    fn a_cause_that_repeats_the_one_before_it_is_left_out() {
        let text = shown(["gone", "broken pipe", "broken pipe", "gone"]);
        assert_eq!(text, "gone: broken pipe: gone");
    }

    #[test]
    fn a_cause_whose_text_the_error_quotes_is_left_out() {
        let quoting = "error communicating with database: No such file (os error 2)";
        let text = shown([
            "listening",
            quoting,
            "No such file (os error 2)",
            "(os error 2)",
        ]);
        assert_eq!(text, format!("listening: {quoting}"));
    }
}

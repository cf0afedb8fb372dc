//! Why an execution failed, in one sentence: which thread did what between which two steps of another.
//!
//! *Decides:* what is called the cause. Only what the trace shows is said: the steps, which of them conflict, which locks were held. Where
//! nothing can be said with certainty there is no sentence. *Called by:* the text, the page. *Owns:* nothing.

mod interference;
mod locks;
mod stuck;

use crate::text::Story;
use reweave_model::Kind;

/// Why an execution failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cause {
    /// One sentence, or two.
    pub text: String,
    /// The steps that it names, as indices.
    pub steps: Vec<usize>,
}

impl Cause {
    pub(crate) fn new(text: String, steps: impl IntoIterator<Item = usize>) -> Cause {
        let mut steps: Vec<usize> = steps.into_iter().collect();
        steps.sort_unstable();
        steps.dedup();
        Cause { text, steps }
    }
}

/// Why the execution failed; `None`: it did not, or nothing is certain.
fn cause(story: &Story<'_>) -> Option<Cause> {
    story.walked.machine.as_ref()?;
    let error = story.trace.errors.first()?;
    let mut cause = match error.kind {
        Kind::Deadlock | Kind::Livelock => stuck::cause(story),
        Kind::DataRace => locks::race(story, error),
        Kind::Memory | Kind::Misuse if error.accesses.len() == 2 => {
            interference::alone(story, error).or_else(|| locks::unordered(story, error))
        }
        _ => interference::alone(story, error).or_else(|| interference::cause(story, error)),
    };
    if let Some((text, steps)) = interference::outrun(story, error) {
        let known = cause.get_or_insert_with(|| Cause::new(String::new(), []));
        let gap = if known.text.is_empty() { "" } else { " " };
        known.text += &format!("{gap}{text}");
        known.steps.extend(steps);
    }
    cause
}

impl Story<'_> {
    /// Why the execution failed, where that is certain.
    pub fn cause(&self) -> Option<Cause> {
        cause(self)
    }
}

/// `step 4`, counted from 1.
fn step(index: usize) -> String {
    format!("step {}", index + 1)
}

/// Parts of a list.
fn and(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [front @ .., last] => format!("{} and {last}", front.join(", ")),
    }
}

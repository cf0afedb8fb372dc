//! What a check needs to know of the program that it checks.

use reweave_explore::{Target, TargetError};
use reweave_model::{Choice, Divergence, Execution, Mark, Plan, Site, Step};
use reweave_report::{Position, Trace};
use std::time::Instant;

/// A program of some kind: how workers run it, and how an execution of it is reported.
pub trait Subject: Sync {
    /// What runs it.
    type Target: Target;

    /// A search starts or restarts.
    fn begin(&mut self) {}

    /// For one worker. What it noticed, it leaves with the subject when it is dropped.
    fn target(&self) -> Self::Target;

    /// For runs that are only tried, to make an execution simpler. Nobody hears of what it notices.
    fn trial(&self) -> Self::Target;

    /// Asked before every execution, by any worker; `false`: there are to be no more, for a reason that [`Subject::incomplete`]
    /// reports or the caller of the check knows.
    fn proceed(&self) -> bool {
        true
    }

    /// Whether the search has to restart: an execution needed something that all executions have to be run with. Until then executions,
    /// and [`Subject::confirm`], run as the last [`Subject::begin`] had it.
    fn must_restart(&self) -> bool {
        false
    }

    /// Whether it has to restart because steps are missing in the executions so far. Their errors are reported by the restarted search.
    fn lacks_steps(&self) -> bool {
        false
    }

    /// What was left unexplored beyond what the search knows, in words of the result document.
    fn incomplete(&self) -> Vec<String> {
        Vec::new()
    }

    /// Where a site is.
    fn position(&self, site: Site) -> Option<Position>;

    /// Runs an execution once more and hands back its trace, if nothing differs.
    fn confirm(&self, execution: &Execution) -> Result<Trace, Fault>;

    /// From this moment on no run goes on, of whatever kind: those under way come to nothing. For subjects that can end their runs.
    fn end_runs_at(&self, moment: Option<Instant>) {
        let _ = moment;
    }
}

impl<S: Subject> Subject for &mut S {
    type Target = S::Target;

    fn begin(&mut self) {
        (**self).begin();
    }

    fn target(&self) -> S::Target {
        (**self).target()
    }

    fn trial(&self) -> Self::Target {
        (**self).trial()
    }

    fn proceed(&self) -> bool {
        (**self).proceed()
    }

    fn must_restart(&self) -> bool {
        (**self).must_restart()
    }

    fn lacks_steps(&self) -> bool {
        (**self).lacks_steps()
    }

    fn incomplete(&self) -> Vec<String> {
        (**self).incomplete()
    }

    fn position(&self, site: Site) -> Option<Position> {
        (**self).position(site)
    }

    fn confirm(&self, execution: &Execution) -> Result<Trace, Fault> {
        (**self).confirm(execution)
    }

    fn end_runs_at(&self, moment: Option<Instant>) {
        (**self).end_runs_at(moment);
    }
}

/// Why a check came to nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The program does not do the same when it is run the same way again; what differed.
    Differs(String),
    /// It could not be run.
    Failed(String),
    /// There was no time left to run it.
    Late,
}

impl Fault {
    /// Of a target that has no execution for a plan.
    pub fn of(subject: &impl Subject, error: TargetError) -> Fault {
        match error {
            TargetError::Diverged(divergence) => {
                Fault::Differs(difference(&divergence, |site| subject.position(site)))
            }
            TargetError::Unavailable(why) => Fault::Failed(why),
            TargetError::Late => Fault::Late,
        }
    }
}

/// The first event that was another one than planned, in one line.
pub fn difference(divergence: &Divergence, position: impl Fn(Site) -> Option<Position>) -> String {
    let place = |site: Site| position(site).map_or(String::new(), |place| format!(" at {place}"));
    let expected = &divergence.expected;
    let thread = expected.choice.thread.0;
    let wanted = format!("{}{}", expected.kind.name(), place(expected.site));
    let actual = match divergence.actual {
        Some((kind, site))
            if kind == expected.kind && (site == expected.site || expected.site == Site::ANY) =>
        {
            format!("had another result, or could not be done{}", place(site))
        }
        Some((kind, site)) => format!("came to {}{}", kind.name(), place(site)),
        None => "does not exist or has ended".into(),
    };
    format!(
        "step {}: thread {thread} was to do {wanted}, but {actual}",
        divergence.step + 1
    )
}

/// A plan whose steps are the whole execution.
pub fn plan_of(execution: &Execution) -> Plan {
    let steps = execution.events.iter().map(|event| Step {
        choice: Choice {
            thread: event.thread,
            outcome: event.outcome,
        },
        kind: event.op.kind(),
        site: event.site,
        ok: Some(event.ok),
        mark: Mark::Default,
    });
    Plan {
        steps: steps.collect(),
        max_steps: execution.max_steps,
        ..Plan::default()
    }
}

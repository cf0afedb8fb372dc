//! One worker: takes branches, runs them, keeps what follows from them.

use super::{Flow, Totals, crew::Crew};
use crate::{
    algorithm::Algorithm,
    balance::schedule,
    explorer::{Branch, Explorer},
    target::{Target, TargetError},
};
use reweave_estimate::{Probing, Tally};
use reweave_model::{Execution, Plan};

/// See the module.
pub(crate) struct Worker<'a, A: Algorithm> {
    pub crew: &'a Crew<'a, A::Payload>,
    /// How many branches are drawn at random.
    pub probing: Probing,
    pub explorer: Explorer<A>,
    pub mine: Vec<Branch<A::Payload>>,
    /// What the target was told of and has not run yet, the next one last.
    pub batch: Vec<Branch<A::Payload>>,
    /// Its plans, the next one first; those behind them are kept for their memory.
    pub plans: Vec<Plan>,
    pub totals: Totals,
    /// What the gauge was not told of yet.
    pub tally: Tally,
    /// What was run, if that is counted.
    pub schedules: Option<Vec<u64>>,
}

impl<A: Algorithm> Worker<'_, A> {
    pub fn work<T: Target>(
        &mut self,
        target: &mut T,
        before: &impl Fn() -> Flow,
        after: &impl Fn(&Plan, &Execution) -> Flow,
    ) -> Result<(), TargetError> {
        loop {
            let flow = match self.pass(target, before, after)? {
                Some(flow) => flow,
                None if !self.fill(target) => return Ok(()),
                None => self.run_batch(target, before, after)?,
            };
            if flow == Flow::Stop {
                return Ok(());
            }
        }
    }

    /// Makes a pass of probing, if one is due. Among several it is this worker's only task.
    fn pass<T: Target>(
        &mut self,
        target: &mut T,
        before: &impl Fn() -> Flow,
        after: &impl Fn(&Plan, &Execution) -> Flow,
    ) -> Result<Option<Flow>, TargetError> {
        if self.probing == Probing::Never {
            return Ok(None);
        }
        let prober = self.crew.prober.lock();
        let mut prober = prober.expect("nobody panics while probing");
        if !self.wants_to_probe(&prober) {
            return Ok(None);
        }
        let flow = self.probe(&mut prober, target, before, after)?;
        if self.crew.workers > 1 {
            self.crew.stop();
            return Ok(Some(Flow::Stop));
        }
        Ok(Some(flow))
    }

    fn run_batch<T: Target>(
        &mut self,
        target: &mut T,
        before: &impl Fn() -> Flow,
        after: &impl Fn(&Plan, &Execution) -> Flow,
    ) -> Result<Flow, TargetError> {
        let mut next = 0;
        while !self.batch.is_empty() {
            let flow = self.run_next(target, next, before, after);
            if !matches!(flow, Ok(Flow::Continue)) {
                self.mine.append(&mut self.batch);
                return flow;
            }
            next += 1;
            self.share();
        }
        Ok(Flow::Continue)
    }

    /// Runs the next one of the batch, whose plan is at an index, and adds what follows from it to the stack. One that is not run stays.
    pub fn run_next<T: Target>(
        &mut self,
        target: &mut T,
        plan: usize,
        before: &impl Fn() -> Flow,
        after: &impl Fn(&Plan, &Execution) -> Flow,
    ) -> Result<Flow, TargetError> {
        let branch = self.batch.pop().expect("the batch is not empty");
        if self.crew.stopped() || before() == Flow::Stop {
            self.batch.push(branch);
            self.crew.stop();
            return Ok(Flow::Stop);
        }
        let plan = &self.plans[plan];
        let execution = match target.run(plan) {
            Ok(execution) => execution,
            Err(error) => {
                self.batch.push(branch);
                self.crew.stop();
                return Err(error);
            }
        };
        let mut flow = Flow::Continue;
        if !branch.again {
            let before = self.totals.executions;
            self.totals.add(execution);
            if let (Some(schedules), true) = (&mut self.schedules, self.totals.executions > before)
            {
                schedules.push(schedule(execution));
            }
            flow = after(plan, execution);
        }
        let (stack, node, again) = (self.mine.len(), branch.node, branch.again);
        let weight = self
            .explorer
            .branches(branch, plan, execution, &mut self.mine);
        if self.explorer.repeats && !again {
            self.totals.repeats(execution);
        }
        self.tally.add(weight, self.mine.len() - stack);
        if let Some(departures) = self.crew.departures {
            departures.note(execution, &self.mine[stack..]);
        }
        self.crew.gauge.offer(&mut self.tally);
        if let Some(log) = self.crew.log {
            let alternatives = self.explorer.alternatives(plan, execution);
            let found = &mut self.mine[stack..];
            let positions: Vec<u32> = found.iter().map(|it| it.place.position).collect();
            let mut log = log.lock().expect("nobody panics while writing");
            let nodes = log.execution(node, &positions, &alternatives);
            let named = found.iter_mut().zip(nodes);
            named.for_each(|(branch, node)| branch.node = node);
        }
        if flow == Flow::Stop || self.explorer.unfit().is_some() {
            self.crew.stop();
            return Ok(Flow::Stop);
        }
        Ok(Flow::Continue)
    }

    /// Takes the top of the stack and tells the target of it; says `false` when nothing will come any more. Where there
    /// are others, half of the stack stays within their reach.
    fn fill(&mut self, target: &mut impl Target) -> bool {
        let most = target.batch().max(1);
        if self.mine.is_empty() && !self.crew.take(&mut self.mine, most) {
            return false;
        }
        let all = self.mine.len();
        let count = match self.crew.workers {
            1 => all.min(most),
            _ => all.div_ceil(2).min(most),
        };
        self.batch.extend(self.mine.drain(all - count..));
        self.announce(target);
        true
    }

    /// Tells the target of the batch.
    pub fn announce(&mut self, target: &mut impl Target) {
        let count = self.batch.len();
        if self.plans.len() < count {
            self.plans.resize_with(count, Plan::default);
        }
        for (branch, plan) in self.batch.iter().rev().zip(&mut self.plans) {
            branch.write_plan(plan);
        }
        target.prepare(&self.plans[..count]);
    }

    /// Gives away the older half, if others have nothing to do: the branches nearer to the root, with more below them.
    pub fn share(&mut self) {
        if !self.crew.is_hungry() {
            return;
        }
        let half = (self.mine.len() + self.batch.len()) / 2;
        let give = half.min(self.mine.len());
        if give > 0 {
            self.crew.give(self.mine.drain(..give));
        }
    }
}

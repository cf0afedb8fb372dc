//! `stateful`: partial-order reduction that recognises states. From each state only some of the threads are tried, and a run ends where it comes to
//! a state that was visited: what follows from there is known, or will be found by another branch.
//!
//! After SDPOR (Yang, Chen, Gopalakrishnan, Kirby: *Efficient Stateful Dynamic Partial Order Reduction*, figs. 5 to 7), whose problem this
//! solves in another way. What comes after a visited state may race with what came before it in this run. The paper keeps one graph of operations for
//! the whole program, and takes from it what may come after the visited state. Here every state has its own summary: the *arrivals* of threads at
//! operations in all states that can be reached from it, each with its past, the steps since this state that it comes after. Arrivals flow back
//! over all known steps until nothing changes. Where one flows over a step that it does not come after and that touches the same, one of the
//! threads that bring it about is tried in the state before that step.
//!
//! Deviations from the paper:
//!
//! 1. Summaries are those of states, and are kept up to date, whichever order states are visited in. The paper's sets follow from its
//!    search being depth first. Here several workers visit states in any order, and a branch that is still out adds its part later.
//! 2. A race is looked for with every step that is not in the past of an arrival, and not only with the last one. The last one of a run need not be
//!    the last one of other runs to the same state.
//! 3. What is tried is one of the threads that lead to the arrival; where none of them can go, all that can.
//! 4. Cycles. The paper has none. When nothing is left to be run, every set of states that only reach each other must have one in which all
//!    threads that can go are tried; else all are tried in one of them. So no thread is ignored for ever. Such a set that remains is a livelock: one
//!    run more goes round in it.
//! 5. A step that the program ends with depends on all others, so every error is found and not only the first.
//! 6. Identities come from the target, exact up to a collision of 128 bits. The paper's local ids are those of `runtime`, and need no table here.
//!
//! *Why it is enough.* Claim: if `w` can be done from a visited state, some explored path from there is a permutation of `w` and more by swapping
//! neighbours that do not depend on each other. By induction over the length of `w`. Let `e` be the first step of `w` by a thread that is tried
//! here, or dependent on what is tried. If it is of a tried thread, it can come first, and what is left is shorter. If it is of another thread,
//! and depends on the tried step `t`, then the steps before it can be done after `t`, so by induction an explored path has them. There the thread of
//! `e` arrives at it, with nothing in its past but these steps: so one of their threads is tried here, or all. If there is no such `e`, any tried
//! step leaves `w` possible; by (4) some of them lead to a state where all are tried. So errors, ends, deadlocks, livelocks and what each thread
//! does are those of all schedules. Not every state is visited that has no error.
//!
//! One table serves all workers, and is stored with the search. A search cannot be split: what is tried in a state follows from what others
//! find below it.
//!
//! *Never reports* a state twice; a run that comes to a visited one is counted as redundant. *May miss* nothing: where data races are looked
//! for, it serves only if locks keep all accesses apart (`locks`).

mod cycles;
mod graph;
mod locks;
mod touches;

use crate::{
    algorithm::{
        Algorithm, Found, Malformed, NewBranch, NodeStore, Options, Ran, StoredPayload, Unfit,
    },
    claims::{Claims, Node},
    draft::Child,
    happens::{Happens, count},
    replay::Replay,
};
use graph::{Goes, Graph, Index, Next};
use locks::Uses;
use reweave_model::{Choice, End, Execution, Plan, Policy, Step, ThreadId};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use touches::Touches;

/// What all branches of a search share.
#[derive(Debug, Default)]
pub(crate) struct Visited(Mutex<Table>);

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
struct Table {
    graph: Graph,
    touches: Touches,
    uses: Uses,
}

/// The same as plain data.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct StoredVisited(Table);

impl Visited {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn store(&self) -> StoredVisited {
        StoredVisited(self.lock().clone())
    }
}

impl StoredVisited {
    pub fn makes_sense(&self) -> bool {
        self.0.graph.makes_sense()
    }

    pub fn restore(mut self) -> Visited {
        self.0.graph.index();
        Visited(Mutex::new(self.0))
    }
}

/// The node that stands for a search always has them.
fn visited(node: &Node) -> Result<&Visited, Malformed> {
    node.visited.as_deref().ok_or(Malformed)
}

const STATES: Policy = Policy::States { livelock: false };

/// Finds the branches that follow from executions. Owns reusable tables only.
#[derive(Debug, Default)]
pub struct Stateful {
    happens: Happens,
    replay: Replay,
}

impl Algorithm for Stateful {
    type Payload = Arc<Node>;

    fn new(_: &Options, _: &Arc<dyn Claims>) -> Stateful {
        Stateful::default()
    }

    fn first(_: &Options) -> (Policy, Arc<Node>) {
        (STATES, Arc::new(Node::of_states(Visited::default())))
    }

    fn branches(
        &mut self,
        ran: Ran<'_, Arc<Node>>,
        found: &mut Found<Arc<Node>>,
    ) -> Result<(), Unfit> {
        fits(ran.execution)?;
        let visited = visited(ran.payload).expect("it was made or restored with them");
        let mut table = visited.lock();
        let repeats = self.walk(&mut table, ran.plan, ran.execution)?;
        found.repeats = repeats && ran.execution.end != End::Livelock;
        let graph = &mut table.graph;
        graph.settle();
        let mut wanted = graph.take_wanted();
        if wanted.is_empty() && graph.out == 0 {
            wanted = leave_cycles(graph, &ran, found);
        }
        graph.out += wanted.len() as u64;
        for (at, choice) in wanted.into_iter().rev() {
            let mut steps = graph.way_to(at);
            steps.push(graph.plan_step(at, choice));
            found.children.push(branch(&ran, steps, STATES));
        }
        Ok(())
    }

    fn store(node: &Arc<Node>, nodes: &mut NodeStore) -> StoredPayload {
        StoredPayload {
            numbers: Vec::new(),
            nodes: vec![nodes.add(node)],
        }
    }

    fn restore(
        _: &Options,
        stored: StoredPayload,
        nodes: &[Arc<Node>],
    ) -> Result<Arc<Node>, Malformed> {
        let node = stored.nodes(nodes)?.pop().ok_or(Malformed)?;
        visited(&node).map(|_| node.clone())
    }
}

impl Stateful {
    /// Goes through the states of an execution, up to the first visited one behind its plan; says whether there was one.
    fn walk(
        &mut self,
        table: &mut Table,
        plan: &Plan,
        execution: &Execution,
    ) -> Result<bool, Unfit> {
        self.happens.analyse(execution);
        self.replay.begin(execution);
        self.replay.rewind(execution, &self.happens);
        if !plan.steps.is_empty() && plan.policy == STATES {
            table.graph.out = table.graph.out.saturating_sub(1);
        }
        let mut last = None;
        for position in 0..=execution.events.len() {
            let apart = (table.uses).look_at(execution, &self.replay.state, position);
            if !apart {
                return Err(Unfit::because(
                    "memory is shared without one lock, and data races in it show only in whole runs",
                ));
            }
            let graph = &mut table.graph;
            let state = execution.states.get(position);
            let Some(state) = state.filter(|_| !ends_program(execution, position)) else {
                if let Some((from, step)) = last {
                    consistent(graph.goes(from, step, Goes::Ends))?;
                }
                return Ok(false);
            };
            let threads = self.threads(&mut table.touches, execution);
            let known = graph.find(*state);
            let at = match known {
                Some(at) if execution.end != End::MaxSteps => {
                    consistent(*graph.nodes[at as usize].threads == *threads)?;
                    at
                }
                Some(at) => at,
                None => {
                    // All runs begin in one state.
                    consistent(position > 0 || graph.nodes.is_empty())?;
                    graph.add(*state, threads)
                }
            };
            if let Some((from, step)) = last {
                consistent(graph.goes(from, step, Goes::To(at)))?;
            }
            if known.is_some() && position >= plan.steps.len() {
                return Ok(true);
            }
            let Some(event) = execution.events.get(position) else {
                break;
            };
            let (thread, outcome) = (event.thread, event.outcome);
            last = Some((at, graph.step(at, Choice { thread, outcome })));
            self.replay
                .advance(execution, &self.happens, position as u32);
        }
        Ok(false)
    }

    /// What each thread that was created has come to.
    fn threads(&self, touches: &mut Touches, execution: &Execution) -> Vec<Option<Next>> {
        let replay = &self.replay;
        let born = replay.triggers().iter();
        let born = born.take_while(|it| count(replay.counts(), it.thread) >= it.count);
        let threads = (0..born.count() as u32).map(ThreadId);
        let next = |thread| {
            let pending = replay.pending(execution, &self.happens, thread)?;
            let able = replay.state.enabled(thread, &pending);
            Some(Next {
                kind: pending.op.kind(),
                site: pending.site,
                touch: touches.of(execution, pending.op),
                outcomes: match able {
                    true => replay.state.outcomes(thread, pending.op),
                    false => 0,
                },
            })
        };
        threads.map(next).collect()
    }
}

/// Whether states of this execution can be used.
fn fits(execution: &Execution) -> Result<(), Unfit> {
    if let Some(unrecorded) = execution.unrecorded {
        return Err(Unfit::because(unrecorded.why()));
    }
    let (states, events) = (execution.states.len(), execution.events.len());
    let recorded = execution.names.len() == execution.objects.len();
    if !recorded || states < events || states > events + 1 {
        return Err(Unfit::because("states of this program are not recorded"));
    }
    match execution.epochs.is_empty() {
        true => Ok(()),
        false => Err(Unfit::because(
            "a time limit ends only when nothing else can run",
        )),
    }
}

fn consistent(holds: bool) -> Result<(), Unfit> {
    match holds {
        true => Ok(()),
        false => Err(Unfit::because(
            "what the program does next depends on more than its recorded state",
        )),
    }
}

/// Whether the program ended in the middle, with the event before a position.
fn ends_program(execution: &Execution, position: usize) -> bool {
    let left = || execution.threads.iter().any(|it| it.pending.is_some());
    position == execution.events.len() && execution.end == End::Done && left()
}

/// When nothing is left to be run: what is to be tried so that no thread is ignored in a cycle. If there is nothing, cycles that
/// nothing leaves are gone round once, to be reported.
fn leave_cycles(
    graph: &mut Graph,
    ran: &Ran<'_, Arc<Node>>,
    found: &mut Found<Arc<Node>>,
) -> Vec<(Index, Choice)> {
    let cycles = graph.closed_cycles();
    for cycle in &cycles {
        if !cycle.iter().any(|state| graph.is_full(*state)) {
            graph.want_all(cycle[0]);
        }
    }
    let wanted = graph.take_wanted();
    if wanted.is_empty() && !std::mem::replace(&mut graph.ended, true) {
        for cycle in cycles {
            let mut steps = graph.way_to(cycle[0]);
            steps.extend(graph.round(cycle[0]).unwrap_or_default());
            let policy = Policy::States { livelock: true };
            found.children.push(branch(ran, steps, policy));
        }
    }
    wanted
}

/// A branch with these steps, from the beginning.
fn branch(ran: &Ran<'_, Arc<Node>>, steps: Vec<Step>, policy: Policy) -> NewBranch<Arc<Node>> {
    let rest = Plan {
        steps,
        sleep: Vec::new(),
        policy,
        ..*ran.plan
    };
    NewBranch::new(Child { shared: 0, rest }, ran.payload.clone())
}

//! The states that were visited, the steps between them, and what comes after each: the one table that all workers share.
//!
//! *Owns:* nodes and edges, what each node has to try, and how many branches are out. *Called by:* `stateful`, under its lock, with finished
//! executions. A node keeps the *arrivals* that can be reached from it: a thread that comes to an operation, and the past that it has then. New ones
//! flow against the steps until nothing changes; on their way they say what has to be tried.

use super::touches::{Past, Touch};
use reweave_model::{Choice, Mark, OpKind, Site, StateId, Step, ThreadId};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A node by its number.
pub type Index = u32;

/// A visited state.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Node {
    /// Two halves.
    state: (u64, u64),
    /// The step that found it; none found the first state.
    found: Option<(Index, u32)>,
    /// What each thread has come to; `None`: its end.
    pub threads: Box<[Option<Next>]>,
    /// Threads that are tried here, with all their outcomes.
    tried: Box<[bool]>,
    pub steps: Vec<Edge>,
    /// The steps that lead here.
    before: Vec<(Index, u32)>,
    arrivals: Vec<Arrival>,
}

/// What a thread has come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Next {
    pub kind: OpKind,
    pub site: Site,
    pub touch: Touch,
    /// 0: it cannot go.
    pub outcomes: u16,
}

/// A step from a state.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Edge {
    pub choice: Choice,
    pub to: Goes,
}

/// Where a step goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Goes {
    /// A branch will find out.
    Unknown,
    To(Index),
    /// The program ends with it.
    Ends,
}

/// A thread comes to an operation in a state that can be reached from here. Threads are those of the state that it is kept at, and ones that
/// are created later.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Arrival {
    thread: ThreadId,
    touch: Touch,
    past: Past,
}

/// An arrival at a node that is to flow on over a step that leads there; `None`: over all of them.
type Flowing = (Index, Option<(Index, u32)>, Arrival);

/// Arrivals of one thread at operations that touch the same; if there are more, what they have in common stands for all.
const PASTS: usize = 8;

/// See the module.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Graph {
    pub nodes: Vec<Node>,
    #[serde(skip)]
    known: HashMap<StateId, Index>,
    /// Branches that are out.
    pub out: u64,
    /// Livelocks were looked for at the end.
    pub ended: bool,
    /// Choices to be tried, and where: found since they were taken last.
    #[serde(skip)]
    wanted: Vec<(Index, Choice)>,
    #[serde(skip)]
    flowing: Vec<Flowing>,
}

impl Graph {
    /// The node of a state.
    pub fn find(&self, state: StateId) -> Option<Index> {
        self.known.get(&state).copied()
    }

    /// After it was stored: finds the nodes by their states again.
    pub fn index(&mut self) {
        let state =
            |node: &Node| StateId(u128::from(node.state.0) << 64 | u128::from(node.state.1));
        let states = self.nodes.iter().map(state);
        self.known = states.zip(0..).collect();
    }

    /// Whether nothing that was stored leads nowhere.
    pub fn makes_sense(&self) -> bool {
        let step = |(from, step): &(Index, u32)| {
            let node = self.nodes.get(*from as usize);
            node.is_some_and(|node| (*step as usize) < node.steps.len())
        };
        self.nodes.iter().enumerate().all(|(at, node)| {
            let chosen = |edge: &Edge| {
                let next = node.threads.get(edge.choice.thread.index());
                let leads = match edge.to {
                    Goes::To(to) => (to as usize) < self.nodes.len(),
                    _ => true,
                };
                leads && next.is_some_and(Option::is_some)
            };
            // States are found in the order of their numbers, so ways to them end.
            node.found.is_none_or(|(from, _)| (from as usize) < at)
                && node.tried.len() == node.threads.len()
                && node.found.iter().chain(&node.before).all(step)
                && node.steps.iter().all(chosen)
        })
    }

    /// A new state.
    pub fn add(&mut self, state: StateId, threads: Vec<Option<Next>>) -> Index {
        let index = self.nodes.len() as Index;
        self.known.insert(state, index);
        let arrivals: Vec<Arrival> = (0..)
            .map(ThreadId)
            .zip(&threads)
            .filter_map(|(thread, next)| {
                let touch = (*next)?.touch;
                let past = Past::default();
                Some(Arrival {
                    thread,
                    touch,
                    past,
                })
            })
            .collect();
        let halves = ((state.0 >> 64) as u64, state.0 as u64);
        self.nodes.push(Node {
            state: halves,
            found: None,
            tried: vec![false; threads.len()].into(),
            threads: threads.into(),
            steps: Vec::new(),
            before: Vec::new(),
            arrivals: Vec::new(),
        });
        for arrival in arrivals {
            self.arrive(index, arrival);
        }
        index
    }

    /// A choice was made at a node: the others of its thread are wanted too. Returns the step.
    pub fn step(&mut self, at: Index, choice: Choice) -> u32 {
        let steps = &mut self.nodes[at as usize].steps;
        if let Some(known) = steps.iter().position(|step| step.choice == choice) {
            return known as u32;
        }
        let number = steps.len() as u32;
        let to = Goes::Unknown;
        steps.push(Edge { choice, to });
        self.want(at, choice.thread);
        number
    }

    /// It is known where a step goes. `false`: it went elsewhere before.
    pub fn goes(&mut self, from: Index, step: u32, goes: Goes) -> bool {
        let edge = &mut self.nodes[from as usize].steps[step as usize];
        if edge.to != Goes::Unknown {
            return edge.to == goes;
        }
        edge.to = goes;
        let thread = edge.choice.thread;
        match goes {
            Goes::To(to) => {
                let node = &mut self.nodes[to as usize];
                if to > 0 {
                    node.found.get_or_insert((from, step));
                }
                node.before.push((from, step));
                for arrival in node.arrivals.clone() {
                    self.flowing.push((to, Some((from, step)), arrival));
                }
            }
            _ => {
                // All that others could do instead comes before the end.
                self.arrive(
                    from,
                    Arrival {
                        thread,
                        touch: Touch::ENDS,
                        past: Past::default(),
                    },
                );
                self.want_all(from);
            }
        }
        true
    }

    /// Has all arrivals flow until nothing changes.
    pub fn settle(&mut self) {
        while let Some((at, over, arrival)) = self.flowing.pop() {
            if let Some(step) = over {
                self.flow(step, &arrival);
                continue;
            }
            let node = &self.nodes[at as usize];
            // Others that came since may stand for it.
            if node.arrivals.contains(&arrival) {
                for step in node.before.clone() {
                    self.flow(step, &arrival);
                }
            }
        }
    }

    /// What is to be tried, since it was asked last.
    pub fn take_wanted(&mut self) -> Vec<(Index, Choice)> {
        std::mem::take(&mut self.wanted)
    }

    /// The choices that lead to a node, from the beginning, by the steps that found it.
    pub fn way_to(&self, at: Index) -> Vec<Step> {
        let mut way = Vec::new();
        let mut found = self.nodes[at as usize].found;
        while let Some((from, step)) = found {
            let node = &self.nodes[from as usize];
            way.push(self.plan_step(from, node.steps[step as usize].choice));
            found = node.found;
        }
        way.reverse();
        way
    }

    /// A choice at a node as a step of a plan.
    pub fn plan_step(&self, at: Index, choice: Choice) -> Step {
        let node = &self.nodes[at as usize];
        let next = node.threads[choice.thread.index()].expect("it has come to an operation");
        Step {
            choice,
            kind: next.kind,
            site: next.site,
            ok: None,
            mark: Mark::Default,
        }
    }

    /// Whether every thread that can go at a node is tried there.
    pub fn is_full(&self, at: Index) -> bool {
        let node = &self.nodes[at as usize];
        let able = node
            .threads
            .iter()
            .map(|next| next.is_some_and(|it| it.outcomes > 0));
        able.zip(&node.tried).all(|(able, tried)| !able || *tried)
    }

    /// All that can go at a node is to be tried.
    pub fn want_all(&mut self, at: Index) {
        for thread in 0..self.nodes[at as usize].threads.len() as u32 {
            self.want(at, ThreadId(thread));
        }
    }

    fn want(&mut self, at: Index, thread: ThreadId) {
        let node = &mut self.nodes[at as usize];
        let outcomes = node.outcomes(thread);
        if outcomes == 0 || std::mem::replace(&mut node.tried[thread.index()], true) {
            return;
        }
        for outcome in 0..outcomes {
            let choice = Choice { thread, outcome };
            // One of them may be what is just being done.
            if !node.steps.iter().any(|step| step.choice == choice) {
                let to = Goes::Unknown;
                node.steps.push(Edge { choice, to });
                self.wanted.push((at, choice));
            }
        }
    }

    /// An arrival reaches a node. It flows on unless another stands for it.
    fn arrive(&mut self, at: Index, arrival: Arrival) {
        let arrivals = &mut self.nodes[at as usize].arrivals;
        let (thread, touch) = (arrival.thread, arrival.touch);
        let same = |it: &Arrival| it.thread == thread && it.touch == touch;
        let mut alike = arrivals.iter().filter(|it| same(it));
        if alike.any(|it| it.past.is_within(&arrival.past)) {
            return;
        }
        arrivals.retain(|it| !same(it) || !arrival.past.is_within(&it.past));
        let mut arrival = arrival.clone();
        if arrivals.iter().filter(|it| same(it)).count() >= PASTS {
            let alike = arrivals.iter().filter(|it| same(it));
            arrival.past = alike.fold(arrival.past, |past, it| past.common(&it.past));
            arrivals.retain(|it| !same(it));
        }
        arrivals.push(arrival.clone());
        self.flowing.push((at, None, arrival));
    }

    /// An arrival goes back over a step: either the step belongs to its past, or the two may race.
    fn flow(&mut self, (from, step): (Index, u32), arrival: &Arrival) {
        let node = &self.nodes[from as usize];
        let choice = node.steps[step as usize].choice;
        let next = node.threads[choice.thread.index()].expect("it has come to an operation");
        let Arrival {
            thread,
            touch,
            past,
        } = arrival;
        let born = node.threads.len();
        let comes_before = choice.thread == *thread
            || past.has(choice.thread)
            || past.depends(&next.touch)
            || self.creates(from, step, arrival);
        let past = match comes_before {
            true => past.with(choice.thread, &next.touch),
            false => {
                if next.touch.races(touch) && !node.waits_for(&next.touch, arrival) {
                    self.try_one_of(from, arrival);
                }
                past.clone()
            }
        };
        // All steps before are in its past: it races with none.
        if !past.has_all(born, *thread) {
            let (thread, touch) = (*thread, *touch);
            self.arrive(
                from,
                Arrival {
                    thread,
                    touch,
                    past,
                },
            );
        }
    }

    /// Whether a step creates the thread of an arrival, or one in its past.
    fn creates(&self, from: Index, step: u32, arrival: &Arrival) -> bool {
        let node = &self.nodes[from as usize];
        let Goes::To(to) = node.steps[step as usize].to else {
            return false;
        };
        let mut new = node.threads.len()..self.nodes[to as usize].threads.len();
        new.any(|index| {
            let thread = ThreadId(index as u32);
            thread == arrival.thread || arrival.past.has(thread)
        })
    }

    /// One of the threads that bring an arrival about has to be tried.
    fn try_one_of(&mut self, at: Index, arrival: &Arrival) {
        let node = &self.nodes[at as usize];
        let all = || std::iter::once(arrival.thread).chain(arrival.past.threads());
        let here = |thread: &ThreadId| thread.index() < node.threads.len();
        if all().filter(here).any(|thread| node.tried[thread.index()]) {
            return;
        }
        let able = all().filter(here).find(|thread| node.outcomes(*thread) > 0);
        match able {
            Some(thread) => self.want(at, thread),
            None => self.want_all(at),
        }
    }
}

impl Node {
    fn outcomes(&self, thread: ThreadId) -> u16 {
        self.threads[thread.index()].map_or(0, |next| next.outcomes)
    }

    /// Whether an arrival is at an operation that its thread waits at here already, and all that could let it go depends on the other one.
    fn waits_for(&self, other: &Touch, arrival: &Arrival) -> bool {
        let here = self.threads.get(arrival.thread.index()).copied().flatten();
        arrival.past.is_empty()
            && here.is_some_and(|next| {
                next.outcomes == 0 && next.touch == arrival.touch && next.touch.is_decided_by(other)
            })
    }
}

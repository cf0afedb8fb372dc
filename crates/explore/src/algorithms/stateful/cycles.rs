//! Cycles of the states that were visited: where a search could go round and ignore a thread, and those that nothing leaves.

use super::graph::{Goes, Graph, Index};
use reweave_model::Step;
use std::collections::{HashMap, VecDeque};

impl Graph {
    /// The sets of states that reach each other and nothing else, those that are no end.
    pub fn closed_cycles(&self) -> Vec<Vec<Index>> {
        let mut search = Components::new(self);
        for root in 0..self.nodes.len() as Index {
            search.visit(root);
        }
        search.found
    }

    /// The steps from a state back to it, within a set of states.
    pub fn round(&self, at: Index) -> Option<Vec<Step>> {
        let mut came = HashMap::new();
        let mut left = VecDeque::from([at]);
        while let Some(state) = left.pop_front() {
            for step in &self.nodes[state as usize].steps {
                let Goes::To(to) = step.to else { continue };
                if came.contains_key(&to) {
                    continue;
                }
                came.insert(to, (state, step.choice));
                if to == at {
                    return Some(self.way_back(at, &came));
                }
                left.push_back(to);
            }
        }
        None
    }

    fn way_back(
        &self,
        at: Index,
        came: &HashMap<Index, (Index, reweave_model::Choice)>,
    ) -> Vec<Step> {
        let mut way = Vec::new();
        let mut state = at;
        loop {
            let (from, choice) = came[&state];
            way.push(self.plan_step(from, choice));
            state = from;
            if state == at {
                break;
            }
        }
        way.reverse();
        way
    }
}

/// Tarjan's algorithm without recursion.
struct Components<'a> {
    graph: &'a Graph,
    /// From 1; 0: not visited.
    numbers: Vec<u32>,
    lows: Vec<u32>,
    /// Visited and in no component yet.
    open: Vec<bool>,
    stack: Vec<Index>,
    next: u32,
    found: Vec<Vec<Index>>,
}

impl<'a> Components<'a> {
    fn new(graph: &'a Graph) -> Components<'a> {
        let count = graph.nodes.len();
        Components {
            graph,
            numbers: vec![0; count],
            lows: vec![0; count],
            open: vec![false; count],
            stack: Vec::new(),
            next: 1,
            found: Vec::new(),
        }
    }

    fn enter(&mut self, state: Index) {
        let index = state as usize;
        (self.numbers[index], self.lows[index]) = (self.next, self.next);
        self.next += 1;
        self.open[index] = true;
        self.stack.push(state);
    }

    fn visit(&mut self, root: Index) {
        if self.numbers[root as usize] != 0 {
            return;
        }
        self.enter(root);
        let mut path = vec![(root, 0)];
        while let Some((state, step)) = path.last_mut() {
            let (state, nth) = (*state, *step);
            *step += 1;
            let steps = &self.graph.nodes[state as usize].steps;
            match steps.get(nth).map(|step| step.to) {
                Some(Goes::To(to)) if self.numbers[to as usize] == 0 => {
                    self.enter(to);
                    path.push((to, 0));
                }
                Some(Goes::To(to)) if self.open[to as usize] => {
                    self.lower(state, self.numbers[to as usize]);
                }
                Some(_) => {}
                None => {
                    path.pop();
                    if let Some((before, _)) = path.last() {
                        self.lower(*before, self.lows[state as usize]);
                    }
                    self.close(state);
                }
            }
        }
    }

    fn lower(&mut self, state: Index, low: u32) {
        let mine = &mut self.lows[state as usize];
        *mine = low.min(*mine);
    }

    /// All that can be reached from a state was visited.
    fn close(&mut self, state: Index) {
        if self.lows[state as usize] != self.numbers[state as usize] {
            return;
        }
        let begins = self.stack.iter().rposition(|it| *it == state);
        let component = self.stack.split_off(begins.expect("it is open"));
        for &member in &component {
            self.open[member as usize] = false;
        }
        let mut steps = component
            .iter()
            .flat_map(|it| &self.graph.nodes[*it as usize].steps);
        let inside = |to: &Goes| matches!(to, Goes::To(to) if component.contains(to));
        let goes_round = component.len() > 1 || steps.clone().any(|step| inside(&step.to));
        if goes_round && steps.all(|step| inside(&step.to)) {
            self.found.push(component);
        }
    }
}

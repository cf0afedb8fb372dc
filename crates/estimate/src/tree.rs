//! The tree of a recorded search, and what each strategy and estimator makes of it while it grows.
//!
//! *After* chapter 4 of Simsa's thesis. A strategy says which nodes will be explored that are not scheduled yet: none (lazy), all
//! until their parent is done (eager), those that will be (oracle). An estimator turns that into a number: the weight of the
//! branches explored (weighted backtrack), or the mean size of explored siblings for the others (recursive). Each node keeps
//! the sums over its explored children, and an execution changes those on its own path only.

/// Which nodes will be explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// Those that are scheduled.
    Lazy,
    /// All that are known, until their parent is done.
    Eager,
    /// Those that will be, which only a recorded search can tell.
    Oracle,
}

/// How a number is made of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Estimator {
    /// Time over weight.
    Weighted,
    /// From the leaves up.
    Recursive,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Strategy; 3] = [Strategy::Oracle, Strategy::Lazy, Strategy::Eager];
}

impl Estimator {
    /// All of them.
    pub const ALL: [Estimator; 2] = [Estimator::Weighted, Estimator::Recursive];
}

/// Sizes are cut here, so that their sums are numbers.
const LARGEST: f64 = 1e300;

/// A change of a sum by so many times what is left of it leaves too few digits.
const HUGE: f64 = 1e6;

/// A tree under exploration.
#[derive(Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    /// How many children of each node are ever scheduled, for the oracle.
    ever: Vec<u32>,
    now: Option<usize>,
    /// Nodes of which something changed beside the path of the execution.
    touched: Vec<usize>,
    time: f64,
}

#[derive(Clone, Debug, Default)]
struct Node {
    parent: usize,
    added: u32,
    scheduled: u32,
    explored: u32,
    is_scheduled: bool,
    is_explored: bool,
    /// Scheduled and not explored, here or below.
    open: u32,
    /// The child that was added last, and the sibling that was added before this one; 0: there is none.
    youngest: usize,
    elder: usize,
    /// Time of the execution that ends here.
    leaf: f64,
    /// Sums over explored children, and the values that the parent knows: for each strategy weight and size.
    sums: [[f64; 2]; 3],
    told: [[f64; 2]; 3],
}

impl Tree {
    /// For a search in which so many children of each node are scheduled in the end.
    pub fn new(ever: Vec<u32>) -> Tree {
        Tree {
            ever,
            ..Tree::default()
        }
    }

    /// A new node below another.
    pub fn add_node(&mut self, parent: usize) {
        let root = self.nodes.is_empty();
        self.nodes.push(Node {
            parent,
            ..Node::default()
        });
        if !root {
            let node = self.nodes.len() - 1;
            self.nodes[node].elder = self.nodes[parent].youngest;
            self.nodes[parent].youngest = node;
            self.nodes[parent].added += 1;
            self.touch(parent);
        }
    }

    /// A node will be explored.
    pub fn explore(&mut self, node: usize) {
        if std::mem::replace(&mut self.nodes[node].is_scheduled, true) {
            return;
        }
        if node > 0 {
            let parent = self.nodes[node].parent;
            self.nodes[parent].scheduled += 1;
            self.touch(parent);
        }
        self.open(node, 1);
    }

    /// The execution goes to a node.
    pub fn transition(&mut self, node: usize) {
        self.now = Some(node);
        if std::mem::replace(&mut self.nodes[node].is_explored, true) {
            return;
        }
        if node > 0 {
            let parent = self.nodes[node].parent;
            self.nodes[parent].explored += 1;
        }
        if self.nodes[node].is_scheduled {
            self.open(node, -1);
        }
    }

    /// The execution is over and took this time.
    pub fn end(&mut self, time: f64) {
        self.time += time;
        let Some(leaf) = self.now.take() else {
            return;
        };
        self.nodes[leaf].leaf += time;
        for node in std::mem::take(&mut self.touched) {
            self.tell(node);
        }
        self.tell(leaf);
    }

    /// Time so far.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// The time that the whole search will take.
    pub fn estimate(&self, strategy: Strategy, estimator: Estimator) -> f64 {
        let [weight, size] = self.values(0)[strategy as usize];
        match estimator {
            Estimator::Weighted => self.time / weight,
            Estimator::Recursive => size,
        }
    }

    fn touch(&mut self, node: usize) {
        if self.touched.last() != Some(&node) {
            self.touched.push(node);
        }
    }

    fn open(&mut self, mut node: usize, by: i32) {
        loop {
            let open = &mut self.nodes[node].open;
            *open = open.wrapping_add_signed(by);
            if node == 0 {
                break;
            }
            node = self.nodes[node].parent;
        }
    }

    /// Passes what a node is worth up to the root.
    fn tell(&mut self, mut node: usize) {
        loop {
            let values = self.values(node);
            let told = std::mem::replace(&mut self.nodes[node].told, values);
            if node == 0 {
                break;
            }
            node = self.nodes[node].parent;
            let sums = self.nodes[node].sums.iter_mut().flatten();
            let changes = values.iter().flatten().zip(told.iter().flatten());
            let mut sound = true;
            for (sum, (new, old)) in sums.zip(changes) {
                *sum += new - old;
                // What is left when something huge goes is mostly rounding.
                sound &= sum.abs() * HUGE >= *old;
            }
            if !sound {
                self.add_up(node);
            }
        }
    }

    /// Computes the sums of a node from its children.
    fn add_up(&mut self, node: usize) {
        let mut sums = [[0.0; 2]; 3];
        let mut child = self.nodes[node].youngest;
        while child != 0 {
            let told = self.nodes[child].told.iter().flatten();
            sums.iter_mut()
                .flatten()
                .zip(told)
                .for_each(|(sum, told)| *sum += told);
            child = self.nodes[child].elder;
        }
        self.nodes[node].sums = sums;
    }

    /// Weight and size by each strategy, from the sums over the explored children.
    fn values(&self, index: usize) -> [[f64; 2]; 3] {
        let node = &self.nodes[index];
        if node.explored == 0 {
            let seen = if node.is_explored { 1.0 } else { 0.0 };
            return [[seen, node.leaf]; 3];
        }
        let explored = f64::from(node.explored);
        let mut values = [[0.0; 2]; 3];
        for strategy in Strategy::ALL {
            let children = match strategy {
                Strategy::Lazy => node.scheduled,
                Strategy::Eager if node.open > 0 => node.added,
                Strategy::Eager => node.scheduled,
                Strategy::Oracle => self.ever[index],
            };
            let children = f64::from(children).max(explored);
            let [weights, sizes] = node.sums[strategy as usize];
            let size = (sizes * children / explored).min(LARGEST);
            values[strategy as usize] = [weights / children, size];
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Dice;

    /// A tree as it grows, kept in the plainest way.
    #[derive(Default)]
    struct Plain {
        children: Vec<Vec<usize>>,
        scheduled: Vec<bool>,
        explored: Vec<bool>,
        leaf: Vec<Option<f64>>,
    }

    impl Plain {
        fn add(&mut self, parent: Option<usize>) -> usize {
            let node = self.children.len();
            self.children.push(Vec::new());
            self.scheduled.push(false);
            self.explored.push(false);
            self.leaf.push(None);
            if let Some(parent) = parent {
                self.children[parent].push(node);
            }
            node
        }

        fn finished(&self, node: usize) -> bool {
            let settled = !self.scheduled[node] || self.explored[node];
            settled
                && self.children[node]
                    .iter()
                    .all(|child| self.finished(*child))
        }

        /// Children that are explored, and those that are or will be.
        fn expected(&self, node: usize, strategy: Strategy, ever: &[bool]) -> (Vec<usize>, usize) {
            let children = &self.children[node];
            let explored = children
                .iter()
                .copied()
                .filter(|child| self.explored[*child]);
            let expected = children.iter().filter(|child| match strategy {
                Strategy::Lazy => self.scheduled[**child],
                Strategy::Eager => self.scheduled[**child] || !self.finished(node),
                Strategy::Oracle => ever[**child],
            });
            (explored.collect(), expected.count())
        }

        /// The weights of all branches explored below a node, and its size.
        fn values(&self, node: usize, strategy: Strategy, ever: &[bool]) -> (f64, f64) {
            if let Some(time) = self.leaf[node] {
                return (1.0, time);
            }
            let (explored, expected) = self.expected(node, strategy, ever);
            let values = explored
                .iter()
                .map(|child| self.values(*child, strategy, ever));
            let (weights, sizes): (Vec<f64>, Vec<f64>) = values.unzip();
            let expected = expected as f64;
            let size = sizes.iter().sum::<f64>() * expected / explored.len() as f64;
            (weights.iter().sum::<f64>() / expected, size)
        }
    }

    /// Grows a random tree to its end. `each` is called after every execution.
    fn grow(
        seed: u64,
        events: &mut dyn FnMut(&str, usize, f64),
        each: &mut dyn FnMut(&Plain),
    ) -> Plain {
        let mut dice = Dice(seed);
        let mut plain = Plain::default();
        let root = plain.add(None);
        events("add", 0, 0.0);
        plain.scheduled[root] = true;
        events("explore", root, 0.0);
        let mut waiting = vec![root];
        while !waiting.is_empty() {
            let next = dice.next() as usize % waiting.len();
            let mut node = waiting.swap_remove(next);
            let mut path = Vec::new();
            loop {
                plain.explored[node] = true;
                events("transition", node, 0.0);
                path.push(node);
                let room = plain.children.len() < 60 && path.len() < 6;
                let count = if room { dice.next() as usize % 4 } else { 0 };
                if count == 0 {
                    break;
                }
                for _ in 0..count {
                    plain.add(Some(node));
                    events("add", node, 0.0);
                }
                let children = plain.children[node].clone();
                node = children[dice.next() as usize % count];
                plain.scheduled[node] = true;
                events("explore", node, 0.0);
            }
            // Some of what was left out on the way is found to be needed after all.
            for choice in path {
                for child in plain.children[choice].clone() {
                    if !plain.scheduled[child] && dice.next().is_multiple_of(3) {
                        plain.scheduled[child] = true;
                        events("explore", child, 0.0);
                        waiting.push(child);
                    }
                }
            }
            let time = 0.5 + dice.fraction();
            plain.leaf[node] = Some(time);
            events("end", node, time);
            each(&plain);
        }
        plain
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
    }

    #[test]
    fn kept_sums_are_those_computed_from_children() {
        for seed in 0..300 {
            let last = grow(seed, &mut |_, _, _| {}, &mut |_| {});
            let ever = last.scheduled;
            let scheduled = |children: &Vec<usize>| {
                children.iter().filter(|child| ever[**child]).count() as u32
            };
            let tree =
                std::cell::RefCell::new(Tree::new(last.children.iter().map(scheduled).collect()));
            let mut told = |event: &str, node: usize, time: f64| {
                let mut tree = tree.borrow_mut();
                match event {
                    "add" => tree.add_node(node),
                    "explore" => tree.explore(node),
                    "transition" => tree.transition(node),
                    _ => tree.end(time),
                }
            };
            let last = grow(seed, &mut told, &mut |plain| {
                let tree = tree.borrow();
                for strategy in Strategy::ALL {
                    let (weight, size) = plain.values(0, strategy, &ever);
                    let weighted = tree.estimate(strategy, Estimator::Weighted);
                    let recursive = tree.estimate(strategy, Estimator::Recursive);
                    assert!(
                        close(weighted, tree.time() / weight),
                        "seed {seed}, {strategy:?}"
                    );
                    assert!(close(recursive, size), "seed {seed}, {strategy:?}");
                }
            });
            // Who has seen everything knows exactly.
            let time: f64 = last.leaf.iter().flatten().sum();
            let tree = tree.borrow();
            for strategy in Strategy::ALL {
                for estimator in Estimator::ALL {
                    let estimate = tree.estimate(strategy, estimator);
                    assert!(
                        close(estimate, time),
                        "seed {seed}, {strategy:?}, {estimator:?}"
                    );
                }
            }
        }
    }
}

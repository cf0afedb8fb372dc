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
            sums.zip(changes)
                .for_each(|(sum, (new, old))| *sum += new - old);
        }
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
            values[strategy as usize] = [weights / children, sizes * children / explored];
        }
        values
    }
}

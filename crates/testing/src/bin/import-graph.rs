//! Prints which crates depend on which, and which parts of the runtime import which. `--dot` prints both for Graphviz, `--places` where families import
//! other families.

use reweave_testing::tidy::{
    crates::{self, Graph},
    families, tree,
};
use std::env;

fn main() {
    let asked = |option: &str| env::args().skip(1).any(|argument| argument == option);
    let imports = families::imports(&tree::sources());
    let graphs = [
        ("crates", crates::graph()),
        ("runtime", families::graph(&imports)),
    ];
    for (name, graph) in &graphs {
        match asked("--dot") {
            true => print_dot(name, graph),
            false => print_text(name, graph),
        }
    }
    if asked("--places") {
        println!("families imported by other parts");
        for one in families::exceptions(&imports) {
            println!("  {}  {}", one.key, one.place);
        }
    }
}

fn print_text(name: &str, graph: &Graph) {
    println!("{name}");
    for (from, to) in graph {
        let to: Vec<&str> = to.iter().map(String::as_str).collect();
        println!("  {from} -> {}", to.join(", "));
    }
    match crates::cycle(graph) {
        Some(way) => println!("  cycle: {}", way.join(" -> ")),
        None => println!("  no cycle"),
    }
}

fn print_dot(name: &str, graph: &Graph) {
    println!("digraph {name} {{");
    for (from, to) in graph {
        for to in to {
            println!("  \"{from}\" -> \"{to}\";");
        }
    }
    println!("}}");
}

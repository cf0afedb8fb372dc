//! Nodes of `std::map`, `std::set` and `std::list`: the functions of the C++ library that follow and change their links, which its code
//! has no hooks for.
//!
//! A step to the next node reads each node on the way. An insertion or removal counts as a write to every node that it may change: by the C++
//! standard it may be concurrent with no other use of the container, so that is no false alarm.

use crate::{
    core::{modules, trampoline::Frame},
    real,
    run::accesses::range,
    trampoline,
};
use alloc::vec::Vec;

trampoline! {
    _ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base => increment, "rsi";
    _ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base => increment, "rsi";
    _ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base => decrement, "rsi";
    _ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base => decrement, "rsi";
    _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_ => insert, "r8";
    _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_ => erase, "rdx";
    _ZNSt8__detail15_List_node_base7_M_hookEPS0_ => hook, "rdx";
    _ZNSt8__detail15_List_node_base9_M_unhookEv => unhook, "rsi";
    _ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_ => transfer, "rcx";
    _ZNSt8__detail15_List_node_base4swapERS0_S1_ => swap, "rdx";
    _ZNSt8__detail15_List_node_base10_M_reverseEv => reverse, "rsi";
}

/// A node of a tree, as libstdc++ has them. The parent of a tree's root is its header, and the header's parent is the root.
#[repr(C)]
struct TreeNode {
    /// 0: it is red, as headers are.
    colour: u32,
    parent: *mut TreeNode,
    left: *mut TreeNode,
    right: *mut TreeNode,
}

/// A node of a ring.
#[repr(C)]
struct ListNode {
    next: *mut ListNode,
    previous: *mut ListNode,
}

/// Nodes of one call, each once.
struct Visited<T>(Vec<*mut T>);

impl<T> Visited<T> {
    fn add(&mut self, node: *mut T) {
        if !node.is_null() && !self.0.contains(&node) {
            self.0.push(node);
        }
    }

    /// Notes the accesses. After that other threads may have run.
    fn note(self, write: bool, frame: &Frame) {
        // What other libraries do with containers of their own is their matter.
        if modules::is_library(frame.return_address) {
            return;
        }
        for node in self.0 {
            range(node as usize, size_of::<T>(), write, frame);
        }
    }
}

/// The nodes from this one to the next one in one direction.
///
/// # Safety
///
/// `node` is of a tree that no other thread changes while this runs, which is so as long as no operation is performed.
unsafe fn way(node: *mut TreeNode, forward: bool) -> (Visited<TreeNode>, *mut TreeNode) {
    let mut visited = Visited(Vec::new());
    visited.add(node);
    // SAFETY: links of a tree's nodes lead to nodes of the tree and its header; null is looked for.
    unsafe {
        let down = |node: *mut TreeNode, forward| {
            if forward { (*node).right } else { (*node).left }
        };
        // The header, from which the way back leads to the last node.
        let parent = (*node).parent;
        let header = !parent.is_null() && (*node).colour == 0 && (*parent).parent == node;
        if !forward && header {
            let last = (*node).right;
            visited.add(last);
            return (visited, last);
        }
        let mut at = down(node, forward);
        if !at.is_null() {
            visited.add(at);
            while !down(at, !forward).is_null() {
                at = down(at, !forward);
                visited.add(at);
            }
            return (visited, at);
        }
        at = node;
        let mut above = (*at).parent;
        visited.add(above);
        while at == down(above, forward) {
            at = above;
            above = (*above).parent;
            visited.add(above);
        }
        // Where the root has nothing on that side, the way ends at the header.
        let end = if forward && (*at).right == above {
            at
        } else {
            above
        };
        (visited, end)
    }
}

/// # Safety
///
/// As the C++ library's function: a node of a tree.
unsafe extern "C" fn increment(node: *mut TreeNode, frame: &Frame) -> *mut TreeNode {
    // SAFETY: by this function's contract; `way` performs no operation.
    let (visited, _) = unsafe { way(node, true) };
    visited.note(false, frame);
    // SAFETY: as above; what is noted may have let other threads change the tree, so the way is looked up again.
    unsafe { way(node, true) }.1
}

/// # Safety
///
/// As [`increment`].
unsafe extern "C" fn decrement(node: *mut TreeNode, frame: &Frame) -> *mut TreeNode {
    // SAFETY: by this function's contract; `way` performs no operation.
    let (visited, _) = unsafe { way(node, false) };
    visited.note(false, frame);
    // SAFETY: by this function's contract; `way` performs no operation.
    unsafe { way(node, false) }.1
}

/// Adds a node and its descendants of two generations: what a rotation at the node or beside it changes.
///
/// # Safety
///
/// As [`way`]; `node` may be null.
unsafe fn add_family(visited: &mut Visited<TreeNode>, node: *mut TreeNode, generations: u32) {
    visited.add(node);
    if !node.is_null() && generations > 0 {
        // SAFETY: not null, so it is a node, by this function's contract.
        unsafe {
            add_family(visited, (*node).left, generations - 1);
            add_family(visited, (*node).right, generations - 1);
        }
    }
}

/// Adds the nodes from this one up to the header, with their families.
///
/// # Safety
///
/// As [`way`]; `header` is that of the node's tree.
unsafe fn add_path(
    visited: &mut Visited<TreeNode>,
    mut node: *mut TreeNode,
    header: *mut TreeNode,
) {
    visited.add(header);
    while !node.is_null() && node != header {
        // SAFETY: the parents of a node are nodes, up to the header, by this function's contract.
        unsafe {
            add_family(visited, node, 2);
            node = (*node).parent;
        }
    }
}

/// # Safety
///
/// As the C++ library's function: a new node, the node that it becomes a child of, and the tree's header.
unsafe extern "C" fn insert(
    left: bool,
    node: *mut TreeNode,
    parent: *mut TreeNode,
    header: *mut TreeNode,
    frame: &Frame,
) {
    let mut visited = Visited(Vec::new());
    visited.add(node);
    // SAFETY: by this function's contract; no operation is performed here.
    unsafe { add_path(&mut visited, parent, header) };
    visited.note(true, frame);
    // SAFETY: the program calls this function of the library with these arguments.
    unsafe {
        real!(_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_: fn(bool, *mut TreeNode, *mut TreeNode, *mut TreeNode))(
            left, node, parent, header,
        );
    }
}

/// # Safety
///
/// As the C++ library's function: a node, and the header of its tree.
unsafe extern "C" fn erase(
    node: *mut TreeNode,
    header: *mut TreeNode,
    frame: &Frame,
) -> *mut TreeNode {
    let mut visited = Visited(Vec::new());
    // SAFETY: by this function's contract; no operation is performed here.
    unsafe {
        // The next node takes the place of one with two children.
        let mut lowest = node;
        if !(*node).left.is_null() && !(*node).right.is_null() {
            lowest = (*node).right;
            while !(*lowest).left.is_null() {
                lowest = (*lowest).left;
            }
        }
        add_path(&mut visited, lowest, header);
        // The first and the last node of the tree are looked for where it was one of them.
        for forward in [false, true] {
            let down = |node: *mut TreeNode| if forward { (*node).right } else { (*node).left };
            let mut at = down(node);
            while !at.is_null() {
                visited.add(at);
                at = if forward { (*at).left } else { (*at).right };
            }
        }
    }
    visited.note(true, frame);
    // SAFETY: the program calls this function of the library with these arguments.
    unsafe {
        real!(_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_: fn(*mut TreeNode, *mut TreeNode) -> *mut TreeNode)(
            node, header,
        )
    }
}

/// # Safety
///
/// As the C++ library's function: a new node, and the one that it is to stand before.
unsafe extern "C" fn hook(node: *mut ListNode, before: *mut ListNode, frame: &Frame) {
    let mut visited = Visited(Vec::new());
    visited.add(node);
    visited.add(before);
    // SAFETY: `before` is a node, by this function's contract.
    visited.add(unsafe { (*before).previous });
    visited.note(true, frame);
    // SAFETY: the program calls this function of the library with these arguments.
    unsafe {
        real!(_ZNSt8__detail15_List_node_base7_M_hookEPS0_: fn(*mut ListNode, *mut ListNode))(
            node, before,
        );
    }
}

/// # Safety
///
/// As the C++ library's function: a node of a list.
unsafe extern "C" fn unhook(node: *mut ListNode, frame: &Frame) {
    let mut visited = Visited(Vec::new());
    visited.add(node);
    // SAFETY: `node` is a node, by this function's contract.
    unsafe {
        visited.add((*node).next);
        visited.add((*node).previous);
    }
    visited.note(true, frame);
    // SAFETY: the program calls this function of the library with these arguments.
    unsafe {
        real!(_ZNSt8__detail15_List_node_base9_M_unhookEv: fn(*mut ListNode))(node);
    }
}

/// # Safety
///
/// As the C++ library's function: a node, and the beginning and end of nodes that are to stand before it.
unsafe extern "C" fn transfer(
    node: *mut ListNode,
    first: *mut ListNode,
    end: *mut ListNode,
    frame: &Frame,
) {
    let mut visited = Visited(Vec::new());
    for each in [node, first, end] {
        visited.add(each);
        // SAFETY: all three are nodes, by this function's contract.
        visited.add(unsafe { (*each).previous });
    }
    visited.note(true, frame);
    // SAFETY: the program calls this function of the library with these arguments.
    unsafe {
        real!(_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_: fn(*mut ListNode, *mut ListNode, *mut ListNode))(
            node, first, end,
        );
    }
}

/// # Safety
///
/// As the C++ library's function: the ends of two lists.
unsafe extern "C" fn swap(one: *mut ListNode, other: *mut ListNode, frame: &Frame) {
    let mut visited = Visited(Vec::new());
    for each in [one, other] {
        visited.add(each);
        // SAFETY: both are nodes, by this function's contract.
        unsafe {
            visited.add((*each).next);
            visited.add((*each).previous);
        }
    }
    visited.note(true, frame);
    // SAFETY: the program calls this function of the library with these arguments.
    unsafe {
        real!(_ZNSt8__detail15_List_node_base4swapERS0_S1_: fn(*mut ListNode, *mut ListNode))(
            one, other,
        );
    }
}

/// # Safety
///
/// As the C++ library's function: the end of a list.
unsafe extern "C" fn reverse(list: *mut ListNode, frame: &Frame) {
    let mut visited = Visited(Vec::new());
    visited.add(list);
    // SAFETY: a list is a ring of nodes, by this function's contract.
    unsafe {
        let mut at = (*list).next;
        while at != list {
            visited.add(at);
            at = (*at).next;
        }
    }
    visited.note(true, frame);
    // SAFETY: the program calls this function of the library with these arguments.
    unsafe {
        real!(_ZNSt8__detail15_List_node_base10_M_reverseEv: fn(*mut ListNode))(list);
    }
}

//! Upgrade of a read lock: the guard in the scrutinee of a `match` lives to the end of the `match`,
//! so the thread asks for the write lock while it still reads. It waits for itself unless another
//! thread has filled the cache before.

use crate::prelude::{sync::RwLock, thread};

type Cache = RwLock<Option<u32>>;

fn fill_in_the_match(cache: &Cache) {
    match *cache.read().unwrap() {
        Some(_) => {}
        None => *cache.write().unwrap() = Some(1),
    }
}

fn fill_after_the_look(cache: &Cache) {
    let seen = *cache.read().unwrap();
    if seen.is_none() {
        cache.write().unwrap().get_or_insert(1);
    }
}

fn run(fill: fn(&Cache)) {
    let cache = RwLock::new(None);
    thread::scope(|s| {
        s.spawn(|| *cache.write().unwrap() = Some(2));
        fill(&cache);
    });
    assert!(cache.read().unwrap().is_some());
}

pub fn broken() {
    run(fill_in_the_match);
}

pub fn fixed() {
    run(fill_after_the_look);
}

//! Readers and writers: the reader waits for the writer to leave in one critical section and counts
//! itself in the next. A writer that comes between the two sees no reader and writes while the
//! reader reads.

use super::plain::Plain;
use crate::prelude::{
    sync::{Condvar, Mutex},
    thread,
};

#[derive(Default)]
struct Room {
    readers: u32,
    writing: bool,
}

struct Shared {
    room: Mutex<Room>,
    changed: Condvar,
    data: Plain<u32>,
}

impl Shared {
    fn read(&self, in_one_step: bool) -> u32 {
        let mut room = self.room.lock().unwrap();
        while room.writing {
            room = self.changed.wait(room).unwrap();
        }
        if !in_one_step {
            drop(room);
            room = self.room.lock().unwrap();
        }
        room.readers += 1;
        drop(room);
        let value = self.data.read();
        self.room.lock().unwrap().readers -= 1;
        self.changed.notify_all();
        value
    }

    fn write(&self, value: u32) {
        let mut room = self.room.lock().unwrap();
        while room.writing || room.readers > 0 {
            room = self.changed.wait(room).unwrap();
        }
        room.writing = true;
        drop(room);
        self.data.write(value);
        self.room.lock().unwrap().writing = false;
        self.changed.notify_all();
    }
}

fn run(in_one_step: bool) {
    let shared = Shared {
        room: Mutex::default(),
        changed: Condvar::new(),
        data: Plain::new(1),
    };
    thread::scope(|s| {
        s.spawn(|| shared.write(2));
        s.spawn(|| shared.read(in_one_step));
    });
    assert_eq!(shared.read(true), 2);
}

pub fn broken() {
    run(false);
}

pub fn fixed() {
    run(true);
}

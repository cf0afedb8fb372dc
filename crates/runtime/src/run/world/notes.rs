//! What is noted of a run: errors, and what is worth a word.

use crate::{
    core::program_start::calls_only,
    run::{
        debugger,
        world::{World, active},
    },
};
use alloc::string::String;
use reweave_model::{Edge, Error, Kind, Op, Site};
use reweave_wire::Note;

impl World {
    /// Notes an error of the running thread.
    pub fn error(&mut self, kind: Kind, rule: Option<&str>, message: String, sites: &[Site]) {
        self.error_about(kind, rule, message, sites, 0);
    }

    /// Notes an error of the running thread about what lies at an address.
    pub fn error_about(
        &mut self,
        kind: Kind,
        rule: Option<&str>,
        message: String,
        sites: &[Site],
        address: usize,
    ) {
        self.about_errors.push(address);
        let thread = self.current;
        let count = self.run.state().count(thread);
        self.run.error(Error {
            kind,
            rule: rule.map(String::from),
            message,
            sites: sites.into(),
            after: Some(Edge { thread, count }),
        });
        if self.debugged && active() {
            debugger::at_error(self);
        }
    }

    /// Says something that is no error, once.
    pub fn note(&mut self, note: Note) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// A call that is not under control makes the search incomplete.
    pub fn note_unsupported(&mut self, call: &str, site: Site) {
        self.notes.push(Note::Unsupported {
            call: call.into(),
            site,
        });
    }

    /// The running thread makes no operation any more, and runs. One without hooks may wait for memory that another thread would write.
    pub fn note_endless(&mut self, site: Site) {
        if calls_only() {
            self.note_unsupported("a thread that goes on for long without a call", site);
            return;
        }
        let message = "a thread goes on for ever without an operation that others could see";
        self.error(Kind::Livelock, None, message.into(), &[site]);
    }

    /// Passes on places that ask for less than sequential consistency, when there are new ones.
    pub fn note_weak_orders(&mut self) {
        if self.races.weak_orders() > self.weak_orders {
            self.weak_orders = self.races.weak_orders();
            // The compiler asks so for the program when it looks at a guard, and rightly.
            for event in &self.run.execution().events {
                if let Op::Load(object) = event.op
                    && self.objects.known()[object.index()].guard
                    && !self.guarded.contains(&event.site)
                {
                    self.guarded.push(event.site);
                }
            }
            let asked = self.races.weak_sites();
            let asked = asked.filter(|site| !self.guarded.contains(site));
            self.notes.extend(asked.map(Note::Weak));
        }
    }
}

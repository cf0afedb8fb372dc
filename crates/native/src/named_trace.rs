//! An execution of a native program as a trace: sites become positions, addresses become names.
//!
//! *Called by:* `subject`, when an error is confirmed or a trace is replayed. *Owns:* nothing.

    /// An execution told by names.
    pub fn trace(&self, seen: &Observation) -> Trace {
        let names = self.names();
        let execution = &seen.execution;
        let detail = &seen.detail;
        let output = self.launch.limits.kept(&detail.output);
        let libraries = self.launch.libraries.wanted();
        let libraries = libraries.into_iter().map(|it| (it.path, it.global));
        let blame: Vec<_> = execution.errors.iter().map(|error| error.after).collect();
        let mut trace = Trace::from_execution(
            execution,
            Context {
                program: Program {
                    libraries: libraries.collect(),
                    ..self.program.clone()
                },
                options: Options {
                    max_steps: self.max_steps,
                    spurious_wakeups: execution.spurious,
                    thread_ends: false,
                },
                site: &|site| names.position(site),
                output: Some(output).filter(|text| !text.is_empty()),
                blame: &blame,
            },
        );
        for (event, stack) in trace.events.iter_mut().zip(&detail.stacks) {
            event.at = names.place_of(stack).or(event.at.take());
        }
        for (index, thread) in trace.threads.iter_mut().enumerate() {
            let pending = execution.threads[index].pending;
            if let (Some(entry), Some(pending)) = (&mut thread.pending, pending) {
                let mut stack = vec![pending.site];
                stack.extend(detail.last.get(index).into_iter().flatten());
                entry.at = names.place_of(&stack);
            }
        }
        let mut known = HashMap::new();
        for (entry, place) in trace.objects.iter_mut().zip(&detail.objects) {
            // The runtime's own have no name for people.
            let thing = names.thing(place);
            let thing = thing.filter(|thing| !thing.name.starts_with("reweave_runtime"));
            if let Some(thing) = thing {
                let times = known.entry(thing.name.clone()).or_insert(0);
                *times += 1;
                entry.name = match *times {
                    1 => thing.name,
                    // Another kind of thing at the same place, or a new one where another was.
                    again => format!("{}'{again}", thing.name),
                };
                entry.allocated = thing.allocated;
            }
        }
        for (index, failure) in trace.errors.iter_mut().enumerate() {
            let stacks = detail.errors.get(index).filter(|stacks| !stacks.is_empty());
            if let Some(stacks) = stacks {
                let places: Vec<_> = stacks.iter().map(|stack| names.place_of(stack)).collect();
                if places.iter().all(Option::is_some) {
                    failure.places = places.into_iter().flatten().collect();
                    failure.stacks = stacks.iter().map(|stack| names.calls(stack)).collect();
                }
            }
            let about = detail.subjects.get(index).and_then(Option::as_ref);
            let thing = about.and_then(|place| names.thing(place));
            let thing = thing.map_or_else(|| "memory without a name".into(), |thing| thing.told());
            failure.message = failure.message.replace("{0}", &thing);
        }
        let stuck = |kind: Kind| matches!(kind, Kind::Deadlock | Kind::Livelock);
        let untold = trace
            .errors
            .iter()
            .position(|it| stuck(it.kind) && it.message.is_empty());
        if let Some(index) = untold {
            trace.errors[index].message = waiting(&trace);
            let threads = trace.threads.iter();
            let mut waiting: Vec<_> = threads.filter_map(|it| it.pending.as_ref()).collect();
            waiting.sort_by_key(|it| it.operation.name == "join");
            let places = waiting.into_iter().filter_map(|it| it.at.clone());
            trace.errors[index].places = places.collect();
        }
        trace
    }


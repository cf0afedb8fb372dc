//! The programs as std has them.

/// The programs, for tools that mirror std: the same text with another crate in the imports, which is these tools' promise. Two
/// things are said apart, because they are not what the table compares and cost one tool (loom) dearly: which `Arc`, for a tool
/// may explore the order of reference counts; and, where the program does not need it, whether the main thread joins the others
/// at its end (`join`) or leaves that to the tool (`leave`).
#[macro_export]
macro_rules! std_programs {
    ($tool:ident, $arc:path, $end:ident) => {
        use $arc as Arc;
        use $tool::{
            sync::{
                Mutex,
                atomic::{AtomicUsize, Ordering::SeqCst},
                mpsc,
            },
            thread,
        };

        fn body(program: $crate::Program) {
            use $crate::Program;
            $crate::count_execution();
            match program {
                Program::Mutex(n) => mutex(n),
                Program::Lastzero(n) => lastzero(n),
                Program::Readers(n) => readers(n),
                Program::Senders(n) => senders(n),
            }
        }

        fn mutex(n: usize) {
            let counter = Arc::new(Mutex::new(0));
            let threads: Vec<_> = (0..n)
                .map(|_| {
                    let counter = counter.clone();
                    thread::spawn(move || *counter.lock().unwrap() += 1)
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
        }

        fn lastzero(n: usize) {
            let a: Arc<Vec<_>> = Arc::new((0..=n).map(|_| AtomicUsize::new(0)).collect());
            let threads: Vec<_> = (1..=n)
                .map(|j| {
                    let a = a.clone();
                    thread::spawn(move || a[j].store(a[j - 1].load(SeqCst) + 1, SeqCst))
                })
                .collect();
            let mut i = n;
            while i > 0 && a[i].load(SeqCst) != 0 {
                i -= 1;
            }
            $crate::std_programs!(@$end threads);
        }

        fn readers(n: usize) {
            let x = Arc::new(AtomicUsize::new(0));
            let threads: Vec<_> = (0..n)
                .map(|_| {
                    let x = x.clone();
                    thread::spawn(move || {
                        x.load(SeqCst);
                    })
                })
                .collect();
            x.store(1, SeqCst);
            $crate::std_programs!(@$end threads);
        }

        fn senders(n: usize) {
            let (sender, receiver) = mpsc::channel();
            let threads: Vec<_> = (0..n)
                .map(|i| {
                    let sender = sender.clone();
                    thread::spawn(move || sender.send(i).unwrap())
                })
                .collect();
            for _ in 0..n {
                receiver.recv().unwrap();
            }
            $crate::std_programs!(@$end threads);
        }
    };
    (@join $threads:ident) => {
        for thread in $threads {
            thread.join().unwrap();
        }
    };
    (@leave $threads:ident) => {
        drop($threads)
    };
}

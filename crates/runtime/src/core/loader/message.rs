//! The message that `dlerror` has for a thread. A call of the loader that succeeds clears the message of the one before; what a
//! constructor or destructor leaves stays.

use super::thread_local;
use core::ptr;

/// While it is there, calls of the runtime's own leave the program's message as it was.
pub struct KeptMessage {
    place: Option<ptr::NonNull<usize>>,
    message: usize,
}

impl KeptMessage {
    /// Takes the running thread's message away. glibc has a pointer to it for each thread.
    pub fn new() -> KeptMessage {
        let place = thread_local(c"__libc_dlerror_result");
        let place = place.and_then(|place| ptr::NonNull::new(place.cast()));
        // SAFETY: the variable is a pointer of this thread, which no other thread uses; null: there is no message.
        let message = place.map_or(0, |place| unsafe { place.replace(0) });
        KeptMessage { place, message }
    }
}

impl Drop for KeptMessage {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            // SAFETY: as when it was taken away. What the runtime's own calls have put there is never used again.
            unsafe { place.write(self.message) };
        }
    }
}

/// Clears the running thread's message.
pub fn clear_message() {
    // SAFETY: `dlerror` only reads and clears the running thread's message.
    unsafe { libc::dlerror() };
}

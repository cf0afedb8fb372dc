//! What is handed over by a pipe.

use super::{History, handed};
use reweave_model::{Object, Op};

#[test]
fn what_is_put_comes_before_what_gets_it_or_more() {
    let pipe = || Object::pipe(2);
    let put = |object| Op::Put {
        object,
        count: 1,
        least: 1,
        tries: true,
    };
    let get = |object, most| Op::Get {
        object,
        most,
        tries: true,
    };
    let hand = |h: &mut History, object| {
        h.op(1, put(object));
        h.op(2, get(object, 1));
    };
    assert!(!handed(hand, pipe()));
    // What is got was put after what this thread did.
    let hand = |h: &mut History, object| {
        h.op(1, put(object));
        h.op(2, put(object));
        h.op(0, get(object, 1));
        h.op(2, get(object, 1));
    };
    assert!(!handed(hand, pipe()));
    // What was put first does not come after what was put later.
    let hand = |h: &mut History, object| {
        h.op(0, put(object));
        h.op(1, put(object));
        h.op(2, get(object, 1));
    };
    assert!(handed(hand, pipe()));
    // The end comes after the last writer.
    let hand = |h: &mut History, object| {
        h.op(1, Op::WriterDrop(object, false));
        h.op(2, get(object, 1));
    };
    assert!(!handed(hand, pipe()));
    let hand = |h: &mut History, object| {
        h.op(1, Op::ReaderDrop(object, false));
        h.op(2, put(object));
    };
    assert!(!handed(hand, pipe()));
    // To look is not to get.
    let hand = |h: &mut History, object| {
        h.op(1, put(object));
        h.op(2, Op::Load(object));
    };
    assert!(handed(hand, pipe()));
}

//! Requests: work that was begun, and waiting for it.

use super::{
    call::{Answer, Call, Wrong, invalid, mpi},
    collectives::Joined,
    messages::{self, Arguments, Mode, Posted, Sent, Status},
    state::{Guess, Guessed, Ranks, state},
};
use crate::run::{operations::visible, spin};
use alloc::{format, vec::Vec};
use core::ffi::c_int;
use reweave_model::{Op, Site};

pub(super) const REQUEST_NULL: c_int = 0x2c00_0000;
/// Requests have these numbers, from here on.
const FIRST: c_int = 0xac00_0000_u32 as c_int;
pub(super) const UNDEFINED: c_int = -32766;
const ERR_REQUEST: c_int = 19;
/// Bytes of a status.
pub(super) const STATUS: usize = 20;

mpi! {
    MPI_Wait => wait;
    MPI_Waitall => wait_for_all;
    MPI_Waitany => wait_for_any;
    MPI_Waitsome => wait_for_some;
    MPI_Test => test;
    MPI_Testall => test_all;
    MPI_Testany => test_any;
    MPI_Testsome => test_some;
    MPI_Start => start;
    MPI_Startall => start_all;
    MPI_Request_free => free;
    MPI_Request_get_status => look;
}

/// What a request waits for.
#[derive(Clone)]
pub(super) enum Work {
    Send(Sent),
    Receive(Posted),
    Collective(Joined),
    /// Nothing: it is complete.
    Done(Status),
}

/// See the module.
#[derive(Clone)]
pub(super) struct Request {
    /// `None`: it is persistent and not active.
    work: Option<Work>,
    persistent: Option<(Arguments, Option<Mode>)>,
    pub(super) made: Site,
}

impl Request {
    pub(super) fn once(work: Work, made: Site) -> Request {
        Request {
            work: Some(work),
            persistent: None,
            made,
        }
    }

    pub(super) fn persistent(arguments: Arguments, mode: Option<Mode>, made: Site) -> Request {
        Request {
            work: None,
            persistent: Some((arguments, mode)),
            made,
        }
    }
}

/// Keeps a new request; its number.
pub(super) fn keep(rank: usize, request: Request) -> c_int {
    let requests = &mut state().ranks[rank].requests;
    let free = requests.iter().position(Option::is_none);
    let index = free.unwrap_or(requests.len());
    if index == requests.len() {
        requests.push(None);
    }
    requests[index] = Some(request);
    FIRST + index as c_int
}

fn find(rank: usize, number: c_int) -> Answer<(usize, Request)> {
    let index = usize::try_from(number.wrapping_sub(FIRST)).ok();
    let request = index.and_then(|index| {
        let request = state().ranks[rank].requests.get(index)?.clone();
        Some((index, request?))
    });
    match request {
        Some(found) => Ok(found),
        None => invalid(ERR_REQUEST, format!("there is no request {number:#x}")),
    }
}

/// Whether a request could be complete by all that was done.
pub(super) fn could_complete(state: &mut Ranks, rank: usize, request: usize) -> bool {
    let known = state.ranks[rank].requests.get(request).cloned().flatten();
    match known.and_then(|known| known.work) {
        Some(Work::Send(sent)) => sent.could_complete(state, rank),
        Some(Work::Receive(posted)) => posted.could_complete(state, rank),
        Some(Work::Done(_)) => true,
        Some(Work::Collective(_)) | None => false,
    }
}

/// The active request at a place of an array: its place in the rank's list and its work.
fn active(call: &Call, array: usize, place: usize) -> Answer<Option<(usize, Work)>> {
    let number: c_int = call.get(array, place);
    if number == REQUEST_NULL {
        return Ok(None);
    }
    let (index, request) = find(call.rank(), number)?;
    Ok(request.work.map(|work| (index, work)))
}

/// Waits for a request's work.
fn complete(work: &Work, call: &Call) -> Answer<Status> {
    match work {
        Work::Send(sent) => {
            sent.complete(call);
            Ok(Status::EMPTY)
        }
        Work::Receive(posted) => posted.complete(call),
        Work::Collective(joined) => {
            joined.complete(call)?;
            Ok(Status::EMPTY)
        }
        Work::Done(status) => Ok(*status),
    }
}

/// Whether a request's work is done.
fn is_complete(work: &Work, call: &Call) -> bool {
    match work {
        Work::Send(sent) => sent.is_complete(call),
        Work::Receive(posted) => posted.is_complete(call),
        Work::Collective(_) => call.unsupported(" of a collective call"),
        Work::Done(_) => true,
    }
}

/// A request was completed: it is gone, or not active any more.
fn retire(call: &Call, array: usize, place: usize, index: usize) {
    spin::disturbed();
    let gone = {
        let mut state = state();
        let request = &mut state.ranks[call.rank()].requests[index];
        let persistent = request
            .as_ref()
            .is_some_and(|request| request.persistent.is_some());
        match request {
            Some(request) if persistent => request.work = None,
            request => *request = None,
        }
        !persistent
    };
    if gone {
        call.put_at(array + 4 * place, REQUEST_NULL);
    }
}

/// Waits for the request at a place of an array and retires it.
fn finish(call: &Call, array: usize, place: usize, index: usize, work: &Work) -> Answer<Status> {
    let status = complete(work, call);
    retire(call, array, place, index);
    status
}

fn status_at(array: usize, place: usize) -> usize {
    match array {
        0 | 1 => array,
        array => array + STATUS * place,
    }
}

fn wait(call: &Call) -> Answer {
    let status = match active(call, call.word(0), 0)? {
        Some((index, work)) => finish(call, call.word(0), 0, index, &work)?,
        None => Status::EMPTY,
    };
    status.put(call.word(1), call);
    Ok(())
}

fn count(call: &Call) -> Answer<usize> {
    super::datatypes::count(call, 0)
}

fn wait_for_all(call: &Call) -> Answer {
    let (count, array) = (count(call)?, call.word(1));
    let mut worst: Option<Wrong> = None;
    for place in 0..count {
        let status = match active(call, array, place)? {
            Some((index, work)) => match finish(call, array, place, index, &work) {
                Ok(status) => status,
                Err(wrong) => {
                    worst = worst.or(Some(wrong));
                    continue;
                }
            },
            None => Status::EMPTY,
        };
        status.put(status_at(call.word(2), place), call);
    }
    worst.map_or(Ok(()), Err)
}

/// Places of the active requests of an array, with their places in the rank's list and their work.
fn all_active(call: &Call, count: usize, array: usize) -> Answer<Vec<(usize, usize, Work)>> {
    let mut all = Vec::new();
    for place in 0..count {
        if let Some((index, work)) = active(call, array, place)? {
            all.push((place, index, work));
        }
    }
    Ok(all)
}

/// Waits for one of several requests: which one is a choice.
fn any_of(call: &Call, array: usize, all: &[(usize, usize, Work)]) -> Answer<(usize, Status)> {
    let outcome = match all.len() {
        1 => 0,
        many => visible(Op::Any(many as u32), call.site).result as usize,
    };
    let (place, index, work) = &all[outcome];
    let me = call.rank();
    let at = usize::MAX;
    if all.len() > 1 {
        if all
            .iter()
            .any(|(.., work)| matches!(work, Work::Collective(_)))
        {
            call.unsupported(" with a collective call among several requests");
        }
        let of = Guessed::Request {
            request: *index,
            candidates: all.iter().map(|(_, index, _)| *index).collect(),
        };
        state().ranks[me].guesses.push(Guess { at, outcome, of });
    }
    let status = complete(work, call);
    state().ranks[me].guesses.retain(|guess| guess.at != at);
    retire(call, array, *place, *index);
    Ok((*place, status?))
}

fn wait_for_any(call: &Call) -> Answer {
    let (count, array) = (count(call)?, call.word(1));
    let all = all_active(call, count, array)?;
    if all.is_empty() {
        call.put(2, UNDEFINED);
        Status::EMPTY.put(call.word(3), call);
        return Ok(());
    }
    let (place, status) = any_of(call, array, &all)?;
    call.put(2, place as c_int);
    status.put(call.word(3), call);
    Ok(())
}

/// One of the requests is waited for; of those behind it in the array, each is found complete too or not, by choice. So every
/// set is returned in one way.
fn wait_for_some(call: &Call) -> Answer {
    let (count, array) = (count(call)?, call.word(1));
    let all = all_active(call, count, array)?;
    if all.is_empty() {
        call.put(2, UNDEFINED);
        return Ok(());
    }
    let (first, status) = any_of(call, array, &all)?;
    let mut found = 0;
    let note = |found: &mut usize, place: usize, status: Status| {
        call.put_at(call.word(3) + 4 * *found, place as c_int);
        status.put(status_at(call.word(4), *found), call);
        *found += 1;
    };
    note(&mut found, first, status);
    for (place, index, work) in all.iter().filter(|(place, ..)| *place > first) {
        if visible(Op::Any(2), call.site).result == 0 {
            continue;
        }
        let me = call.rank();
        let (at, outcome) = (usize::MAX, 1);
        let of = Guessed::Request {
            request: *index,
            candidates: Vec::new(),
        };
        state().ranks[me].guesses.push(Guess { at, outcome, of });
        let status = finish(call, array, *place, *index, work);
        state().ranks[me].guesses.retain(|guess| guess.at != at);
        note(&mut found, *place, status?);
    }
    call.put(2, found as c_int);
    Ok(())
}

fn test(call: &Call) -> Answer {
    let (array, flag) = (call.word(0), 1);
    let status = match active(call, array, 0)? {
        Some((_, work)) if !is_complete(&work, call) => {
            call.put(flag, 0 as c_int);
            return Ok(());
        }
        Some((index, work)) => finish(call, array, 0, index, &work)?,
        None => Status::EMPTY,
    };
    call.put(flag, 1 as c_int);
    status.put(call.word(2), call);
    Ok(())
}

fn look(call: &Call) -> Answer {
    let number = call.int(0);
    let work = match number {
        REQUEST_NULL => None,
        number => find(call.rank(), number)?.1.work,
    };
    let complete = match &work {
        Some(Work::Receive(_)) => call.unsupported(" of a receive"),
        Some(work) => is_complete(work, call),
        None => true,
    };
    call.put(1, c_int::from(complete));
    if complete {
        Status::EMPTY.put(call.word(2), call);
    }
    Ok(())
}

fn test_all(call: &Call) -> Answer {
    let (count, array) = (count(call)?, call.word(1));
    let all = all_active(call, count, array)?;
    if !all.iter().all(|(.., work)| is_complete(work, call)) {
        call.put(2, 0 as c_int);
        return Ok(());
    }
    for place in 0..count {
        let status = match active(call, array, place)? {
            Some((index, work)) => finish(call, array, place, index, &work)?,
            None => Status::EMPTY,
        };
        status.put(status_at(call.word(3), place), call);
    }
    call.put(2, 1 as c_int);
    Ok(())
}

fn test_any(call: &Call) -> Answer {
    let (count, array) = (count(call)?, call.word(1));
    let all = all_active(call, count, array)?;
    if all.is_empty() {
        call.put(2, UNDEFINED);
        call.put(3, 1 as c_int);
        Status::EMPTY.put(call.word(4), call);
        return Ok(());
    }
    let complete: Vec<_> = all
        .iter()
        .filter(|(.., work)| is_complete(work, call))
        .collect();
    let chosen = match complete.len() {
        0 => {
            call.put(2, UNDEFINED);
            call.put(3, 0 as c_int);
            return Ok(());
        }
        1 => 0,
        many => visible(Op::Any(many as u32), call.site).result as usize,
    };
    let (place, index, work) = complete[chosen];
    let status = finish(call, array, *place, *index, work)?;
    call.put(2, *place as c_int);
    call.put(3, 1 as c_int);
    status.put(call.word(4), call);
    Ok(())
}

fn test_some(call: &Call) -> Answer {
    let (count, array) = (count(call)?, call.word(1));
    let all = all_active(call, count, array)?;
    if all.is_empty() {
        call.put(2, UNDEFINED);
        return Ok(());
    }
    let mut found = 0;
    for (place, index, work) in &all {
        if is_complete(work, call) {
            let status = finish(call, array, *place, *index, work)?;
            call.put_at(call.word(3) + 4 * found, *place as c_int);
            status.put(status_at(call.word(4), found), call);
            found += 1;
        }
    }
    call.put(2, found as c_int);
    Ok(())
}

fn start_at(call: &Call, array: usize, place: usize) -> Answer {
    let (index, request) = find(call.rank(), call.get(array, place))?;
    let Some((arguments, mode)) = &request.persistent else {
        return invalid(ERR_REQUEST, "the request is not persistent");
    };
    if request.work.is_some() {
        return invalid(ERR_REQUEST, "the request is active");
    }
    let work = messages::work(arguments, *mode, call)?;
    if let Some(request) = &mut state().ranks[call.rank()].requests[index] {
        request.work = Some(work);
    }
    Ok(())
}

fn start(call: &Call) -> Answer {
    start_at(call, call.word(0), 0)
}

fn start_all(call: &Call) -> Answer {
    (0..count(call)?).try_for_each(|place| start_at(call, call.word(1), place))
}

/// A request that is active is complete when it is, and nobody asks.
fn free(call: &Call) -> Answer {
    let array = call.word(0);
    let (index, request) = find(call.rank(), call.get(array, 0))?;
    if matches!(request.work, Some(Work::Receive(_) | Work::Collective(_))) {
        call.unsupported(" of an active receive");
    }
    state().ranks[call.rank()].requests[index] = None;
    call.put_at(array, REQUEST_NULL);
    Ok(())
}

//! Which receive takes which message, between one sender and one receiver.
//!
//! MPI matches a message with the first receive that was posted and accepts it, and a receive with the first message that
//! was sent and that it accepts. Messages and receives are both in order, so the result does not depend on when they
//! come: the first receive and the first message that it accepts prefer each other to all others, and so on
//! with the rest. Sender and receiver can therefore find the same pairs, each from what it has seen.

use alloc::vec::Vec;

/// What a message carries for matching.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Envelope {
    pub(super) context: u32,
    pub(super) tag: i32,
}

/// What a receive accepts; no tag: any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Wanted {
    pub(super) context: u32,
    pub(super) tag: Option<i32>,
}

impl Wanted {
    pub(super) fn accepts(self, message: Envelope) -> bool {
        self.context == message.context && self.tag.is_none_or(|tag| tag == message.tag)
    }
}

/// The messages and receives between one sender and one receiver that one side has seen, and their pairs.
#[derive(Clone, Default, Debug)]
pub(super) struct Matching {
    sends: Vec<(Envelope, Option<usize>)>,
    posts: Vec<(Wanted, Option<usize>)>,
    /// All before are paired.
    first_send: usize,
    first_post: usize,
}

impl Matching {
    /// How many messages it has seen.
    pub(super) fn sends(&self) -> usize {
        self.sends.len()
    }

    /// How many receives it has seen.
    pub(super) fn posts(&self) -> usize {
        self.posts.len()
    }

    /// The next message; its number.
    pub(super) fn add_send(&mut self, message: Envelope) -> usize {
        let number = self.sends.len();
        let mut open =
            (self.first_post..self.posts.len()).filter(|post| self.posts[*post].1.is_none());
        let post = open.find(|post| self.posts[*post].0.accepts(message));
        self.sends.push((message, post));
        if let Some(post) = post {
            self.posts[post].1 = Some(number);
        }
        self.advance();
        number
    }

    /// The next receive; its number.
    pub(super) fn add_post(&mut self, wanted: Wanted) -> usize {
        let number = self.posts.len();
        let send = self.first_open(wanted);
        self.posts.push((wanted, send));
        if let Some(send) = send {
            self.sends[send].1 = Some(number);
        }
        self.advance();
        number
    }

    fn advance(&mut self) {
        let paired = |pair: Option<&Option<usize>>| matches!(pair, Some(Some(_)));
        while paired(self.sends.get(self.first_send).map(|send| &send.1)) {
            self.first_send += 1;
        }
        while paired(self.posts.get(self.first_post).map(|post| &post.1)) {
            self.first_post += 1;
        }
    }

    /// The first message without a receive that would be accepted.
    pub(super) fn first_open(&self, wanted: Wanted) -> Option<usize> {
        let mut open = self.sends.iter().enumerate().skip(self.first_send);
        open.find(|(_, (message, post))| post.is_none() && wanted.accepts(*message))
            .map(|(number, _)| number)
    }

    /// The message of a receive.
    pub(super) fn send_of(&self, post: usize) -> Option<usize> {
        self.posts.get(post)?.1
    }

    /// The receive of a message.
    pub(super) fn post_of(&self, send: usize) -> Option<usize> {
        self.sends.get(send)?.1
    }

    /// A message that it has seen.
    pub(super) fn envelope(&self, send: usize) -> Envelope {
        self.sends[send].0
    }

    /// Whether some message that would be accepted has no receive, or one that `later` holds for.
    pub(super) fn could_take(&self, wanted: Wanted, later: impl Fn(usize) -> bool) -> bool {
        let mut sends = self.sends.iter();
        sends.any(|(message, post)| wanted.accepts(*message) && post.is_none_or(&later))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The next of a sequence of random numbers, below `n`.
    fn random(state: &mut u64, n: u64) -> u64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % n
    }

    /// By the definition: repeatedly the first receive with a message takes the first that it accepts.
    fn pairs(sends: &[Envelope], posts: &[Wanted]) -> Vec<Option<usize>> {
        let mut taken = std::vec![false; sends.len()];
        let take = |wanted: &Wanted| {
            let found =
                (0..sends.len()).find(|send| !taken[*send] && wanted.accepts(sends[*send]))?;
            taken[found] = true;
            Some(found)
        };
        posts.iter().map(take).collect()
    }

    #[test]
    fn pairs_do_not_depend_on_when_messages_and_receives_come() {
        let mut state = 1;
        for _ in 0..20_000 {
            let (many, more) = (random(&mut state, 6), random(&mut state, 6));
            let sends: Vec<Envelope> = (0..many)
                .map(|_| Envelope {
                    context: random(&mut state, 2) as u32,
                    tag: random(&mut state, 3) as i32,
                })
                .collect();
            let posts: Vec<Wanted> = (0..more)
                .map(|_| Wanted {
                    context: random(&mut state, 2) as u32,
                    tag: Some(random(&mut state, 4) as i32).filter(|tag| *tag < 3),
                })
                .collect();
            let mut seen = Matching::default();
            while seen.sends() < sends.len() || seen.posts() < posts.len() {
                let send = seen.posts() == posts.len()
                    || seen.sends() < sends.len() && random(&mut state, 2) == 0;
                match send {
                    true => seen.add_send(sends[seen.sends()]),
                    false => seen.add_post(posts[seen.posts()]),
                };
            }
            let found: Vec<_> = (0..posts.len()).map(|post| seen.send_of(post)).collect();
            assert_eq!(found, pairs(&sends, &posts), "{sends:?} {posts:?}");
            for (post, send) in found.iter().enumerate() {
                assert!(send.is_none_or(|send| seen.post_of(send) == Some(post)));
            }
        }
    }
}

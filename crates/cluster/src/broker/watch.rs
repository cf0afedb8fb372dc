//! Values as they are written.
//!
//! *Decides:* when the broker is asked once more. *Called by:* `coordinate`, `serve`. *Owns:* a stream of messages. *Invariant:* a broker
//! that goes away and comes back takes nothing along: all values are read again then.

use super::{Attempt, Broker, BrokerError, Key};
use async_nats::jetstream::consumer::pull;
use futures_util::StreamExt;
use std::{
    pin::pin,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

/// After so long without a value the broker is asked for all of them again: a message may be lost without a trace.
const LOST: Duration = Duration::from_secs(10);

/// See the module.
pub(crate) struct Watch {
    broker: Broker,
    key: Key,
    receiver: Receiver<(Key, Vec<u8>)>,
    /// When a value came, or all of them were asked for.
    heard: Instant,
    lost: Duration,
}

impl Broker {
    /// Values whose key matches, and those that are written from now on. A value may come more than once.
    pub(crate) fn watch(&self, key: &Key) -> Result<Watch, BrokerError> {
        Ok(Watch {
            broker: self.clone(),
            key: key.clone(),
            receiver: self.values_of(key)?,
            heard: Instant::now(),
            lost: LOST,
        })
    }

    fn values_of(&self, key: &Key) -> Result<Receiver<(Key, Vec<u8>)>, BrokerError> {
        let config = pull::OrderedConfig {
            filter_subject: key.subject(),
            ..pull::OrderedConfig::default()
        };
        let messages = self.patiently(async || {
            let consumer = self.values.create_consumer(config.clone()).await;
            let consumer = match consumer {
                Ok(consumer) => consumer,
                Err(error) => return Attempt::Again(BrokerError::of(&error)),
            };
            match consumer.messages().await {
                Ok(messages) => Attempt::Done(messages),
                Err(error) => Attempt::Again(BrokerError::of(&error)),
            }
        })?;
        let (sender, receiver) = mpsc::channel();
        self.handle.spawn(async move {
            let mut messages = pin!(messages);
            while let Some(Ok(message)) = messages.next().await {
                let subject = message.subject.as_str();
                let key = subject.strip_suffix(".value").unwrap_or(subject);
                let key = Key(key.to_owned());
                if sender.send((key, message.payload.to_vec())).is_err() {
                    break;
                }
            }
        });
        Ok(receiver)
    }
}

impl Watch {
    /// The next value; `None`: there was none for so long.
    pub(crate) fn next(
        &mut self,
        wait: Duration,
    ) -> Result<Option<(String, Vec<u8>)>, BrokerError> {
        let (key, value) = match self.receiver.recv_timeout(wait) {
            Ok(found) => found,
            Err(RecvTimeoutError::Timeout) if self.heard.elapsed() < self.lost => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {
                // Where nothing happens for long, that is not asked often.
                self.lost = (2 * self.lost).min(6 * LOST);
                self.begin_again()?;
                return Ok(None);
            }
            // The server that sent them is gone.
            Err(RecvTimeoutError::Disconnected) => {
                self.begin_again()?;
                return Ok(None);
            }
        };
        (self.heard, self.lost) = (Instant::now(), LOST);
        let bytes = self.broker.put_together(&key, &value)?;
        Ok(bytes.map(|bytes| (key.0, bytes)))
    }

    fn begin_again(&mut self) -> Result<(), BrokerError> {
        self.receiver = self.broker.values_of(&self.key)?;
        self.heard = Instant::now();
        Ok(())
    }
}

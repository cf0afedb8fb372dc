//! Conversions of [`Arc`].

use super::{Arc, address};
use crate::rt::arcs;
use std::{
    borrow::Cow,
    ffi::{CStr, CString, OsStr, OsString},
    mem::ManuallyDrop,
    panic::Location,
    path::{Path, PathBuf},
    sync,
    task::{Wake, Waker},
};

impl<T: ?Sized> From<sync::Arc<T>> for Arc<T> {
    #[track_caller]
    fn from(inner: sync::Arc<T>) -> Arc<T> {
        arcs::adopted(address(&inner), Location::caller());
        Arc(ManuallyDrop::new(inner))
    }
}

impl<T: ?Sized> From<Arc<T>> for sync::Arc<T> {
    fn from(arc: Arc<T>) -> sync::Arc<T> {
        arc.inner()
    }
}

impl<W: Wake + Send + Sync + 'static> From<Arc<W>> for Waker {
    fn from(arc: Arc<W>) -> Waker {
        Waker::from(arc.inner())
    }
}

/// As std's conversions from these types.
macro_rules! from {
    ($(<$($parameter:ident $(: $bound:path)?),*> $from:ty => $to:ty;)*) => {$(
        impl<$($parameter $(: $bound)?),*> From<$from> for Arc<$to> {
            #[track_caller]
            fn from(value: $from) -> Arc<$to> {
                Arc::made(sync::Arc::from(value))
            }
        }
    )*};
}

from! {
    <T> T => T;
    <T> Vec<T> => [T];
    <T: Clone> &[T] => [T];
    <> &str => str;
    <> String => str;
    <> &CStr => CStr;
    <> CString => CStr;
    <> &OsStr => OsStr;
    <> OsString => OsStr;
    <> &Path => Path;
    <> PathBuf => Path;
}

impl<T: ?Sized> From<Box<T>> for Arc<T> {
    #[track_caller]
    fn from(value: Box<T>) -> Arc<T> {
        Arc::made(sync::Arc::from(value))
    }
}

impl<T, const N: usize> From<[T; N]> for Arc<[T]> {
    #[track_caller]
    fn from(value: [T; N]) -> Arc<[T]> {
        Arc::made(sync::Arc::from(value))
    }
}

impl<'a, B: ?Sized + ToOwned> From<Cow<'a, B>> for Arc<B>
where
    sync::Arc<B>: From<&'a B> + From<B::Owned>,
{
    #[track_caller]
    fn from(value: Cow<'a, B>) -> Arc<B> {
        Arc::made(sync::Arc::from(value))
    }
}

impl From<Arc<str>> for Arc<[u8]> {
    fn from(value: Arc<str>) -> Arc<[u8]> {
        Arc(ManuallyDrop::new(sync::Arc::from(value.inner())))
    }
}

impl<T, const N: usize> TryFrom<Arc<[T]>> for Arc<[T; N]> {
    type Error = Arc<[T]>;

    fn try_from(slice: Arc<[T]>) -> Result<Self, Self::Error> {
        match sync::Arc::try_from(slice.inner()) {
            Ok(inner) => Ok(Arc(ManuallyDrop::new(inner))),
            Err(inner) => Err(Arc(ManuallyDrop::new(inner))),
        }
    }
}

impl<T> FromIterator<T> for Arc<[T]> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Arc<[T]> {
        Arc::made(items.into_iter().collect())
    }
}

impl<T: Default> Default for Arc<T> {
    #[track_caller]
    fn default() -> Arc<T> {
        Arc::new(T::default())
    }
}

impl Default for Arc<str> {
    #[track_caller]
    fn default() -> Arc<str> {
        Arc::from("")
    }
}

impl<T> Default for Arc<[T]> {
    #[track_caller]
    fn default() -> Arc<[T]> {
        Arc::from([])
    }
}

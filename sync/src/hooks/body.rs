//! Reads a delivery's body: all of it is hashed, its beginning is kept.

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::hmac;
use axum::body::{Body, HttpBody as _};
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::refusal::HookRefusal;

/// The longest body, in bytes: hosts send up to 25 MiB.
pub(super) const MAX_BODY: usize = 25 << 20;
/// How much of a body is kept and parsed, in bytes.
pub(super) const MAX_PREFIX: usize = 1 << 20;
/// The same for all bodies together.
const MAX_PREFIXES: usize = 32 << 20;
/// How long a body may take.
const DEADLINE: Duration = Duration::from_secs(30);

/// Memory for the beginnings of bodies, in bytes. Without any left, a beginning is cut earlier.
#[derive(Debug)]
pub(super) struct PrefixRoom(Arc<Semaphore>);

impl Default for PrefixRoom {
    fn default() -> PrefixRoom {
        PrefixRoom(Arc::new(Semaphore::new(MAX_PREFIXES)))
    }
}

/// A body that was read to its end.
pub(super) struct ReadBody {
    /// The code of all of it, by the key that the hash was begun with.
    pub(super) tag: hmac::Tag,
    /// Its beginning.
    pub(super) prefix: Prefix,
}

/// The beginning of a body. Its room is given back on drop.
#[derive(Default)]
pub(super) struct Prefix {
    bytes: Vec<u8>,
    room: Option<OwnedSemaphorePermit>,
    is_cut: bool,
}

/// Reads a body in at most 30 s.
pub(super) async fn read(
    body: Body,
    hash: hmac::Context,
    room: &PrefixRoom,
) -> Result<ReadBody, HookRefusal> {
    if body.size_hint().lower() > MAX_BODY as u64 {
        return Err(HookRefusal::TooLarge);
    }
    match timeout(DEADLINE, read_all(body, hash, room)).await {
        Ok(read) => read,
        Err(_elapsed) => Err(HookRefusal::TooSlow),
    }
}

async fn read_all(
    mut body: Body,
    mut hash: hmac::Context,
    room: &PrefixRoom,
) -> Result<ReadBody, HookRefusal> {
    let (mut prefix, mut length) = (Prefix::default(), 0_usize);
    while let Some(frame) = body.frame().await {
        // A frame of trailers says nothing.
        let Ok(bytes) = frame.map_err(HookRefusal::Broken)?.into_data() else {
            continue;
        };
        length = length.saturating_add(bytes.len());
        if length > MAX_BODY {
            return Err(HookRefusal::TooLarge);
        }
        hash.update(&bytes);
        prefix.keep(&bytes, room);
    }
    Ok(ReadBody {
        tag: hash.sign(),
        prefix,
    })
}

impl Prefix {
    fn keep(&mut self, bytes: &[u8], room: &PrefixRoom) {
        let fits = bytes.len().min(MAX_PREFIX - self.bytes.len());
        let permit = u32::try_from(fits)
            .ok()
            .and_then(|count| room.0.clone().try_acquire_many_owned(count).ok());
        // Once cut, it stays so: a gap would change what the text says.
        let Some(permit) = permit.filter(|_| !self.is_cut) else {
            self.is_cut = true;
            return;
        };
        match &mut self.room {
            Some(held) => held.merge(permit),
            none => *none = Some(permit),
        }
        self.is_cut = fits < bytes.len();
        self.bytes.extend(bytes.iter().take(fits));
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_without_room_is_cut_and_gives_its_room_back() {
        let room = PrefixRoom(Arc::new(Semaphore::new(10)));
        let (mut one, mut two) = (Prefix::default(), Prefix::default());
        one.keep(b"123456", &room);
        two.keep(b"1234567", &room);
        two.keep(b"1", &room);
        assert_eq!((one.bytes(), two.bytes()), (&b"123456"[..], &b""[..]));
        drop(one);
        let mut three = Prefix::default();
        three.keep(b"1234567890", &room);
        assert_eq!(three.bytes().len(), 10);
    }

    #[test]
    fn a_beginning_has_at_most_one_mebibyte() {
        let (room, mut prefix) = (PrefixRoom::default(), Prefix::default());
        for _ in 0..3 {
            prefix.keep(&vec![b'x'; MAX_PREFIX / 2 + 1], &room);
        }
        assert_eq!(prefix.bytes().len(), MAX_PREFIX);
        assert_eq!(room.0.available_permits(), MAX_PREFIXES - MAX_PREFIX);
    }
}

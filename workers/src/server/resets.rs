//! How fast a peer resets streams, read from the frames that pass by (RFC 9113, 4.1).
//!
//! HTTP/2 lets a peer open a stream and reset it at once, which costs it nothing: no limit of streams
//! that are open at once holds that up. h2 counts only resets of streams that it has not handed on
//! yet, of which a fast server has none. So all are counted here, before h2 reads them.
//!
//! A peer gets the same by a frame that is an error of its stream: then this side resets the stream.
//! So what is written is counted, too, but for resets that blame nobody.

use tokio::time::Instant;

/// How many streams a connection may reset at once: four times as many as may be open.
const BURST: f64 = 4096.0;
/// And how many a second after that. A gateway resets a stream for a call that was cancelled. It bounds
/// that itself at half of this, burst and rate (`upstream::resets` there), since the connection that
/// ends here carries the calls of all tenants.
const A_SECOND: f64 = 1000.0;

/// The length of a frame's header.
const HEADER: usize = 9;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
/// Errors with which a stream is reset whose peer did nothing wrong: `NO_ERROR`, after an answer that
/// did not need all of the call, and `CANCEL` (RFC 9113, 7).
const BLAMELESS: [u32; 2] = [0, 8];

/// Where one frame ends and the next begins, as bytes pass by in pieces.
#[derive(Default)]
struct Frames {
    header: [u8; HEADER],
    /// How many bytes of the header came.
    have: usize,
    /// How many bytes of the payload are still to come.
    payload: usize,
    /// The kind of the latest frame.
    kind: u8,
    /// The latest four bytes of a payload; all of it, where the frame is a reset: its error.
    error: u32,
}

/// The header of a frame.
struct Frame {
    kind: u8,
    stream: u32,
}

impl Frames {
    /// Whether no frame is under way.
    fn is_between(&self) -> bool {
        self.have == 0 && self.payload == 0
    }

    /// Some bytes pass by; how many resets ended in them that blame the other side.
    fn pass(&mut self, bytes: &[u8]) -> u32 {
        let mut rest = bytes;
        let mut blaming = 0;
        while !rest.is_empty() {
            self.next(&mut rest);
            let is_reset = self.is_between() && self.kind == RST_STREAM;
            blaming += u32::from(is_reset && !BLAMELESS.contains(&self.error));
        }
        blaming
    }

    /// Takes bytes up to the end of a header, which is returned, or up to the end of a payload.
    fn next(&mut self, bytes: &mut &[u8]) -> Option<Frame> {
        if self.payload > 0 {
            let (payload, rest) = bytes.split_at(self.payload.min(bytes.len()));
            self.payload -= payload.len();
            let latest = payload.get(payload.len().saturating_sub(4)..);
            for byte in latest.unwrap_or_default() {
                self.error = self.error << 8 | u32::from(*byte);
            }
            *bytes = rest;
            return None;
        }
        let missing = self.header.get_mut(self.have..).unwrap_or_default();
        let (taken, rest) = bytes.split_at(missing.len().min(bytes.len()));
        for (to, from) in missing.iter_mut().zip(taken) {
            *to = *from;
        }
        self.have += taken.len();
        *bytes = rest;
        if self.have < HEADER {
            return None;
        }
        let [a, b, c, kind, _flags, stream @ ..] = self.header;
        self.have = 0;
        self.kind = kind;
        self.payload = u32::from_be_bytes([0, a, b, c]) as usize;
        let stream = u32::from_be_bytes(stream) & 0x7fff_ffff;
        Some(Frame { kind, stream })
    }
}

/// A bucket of [`BURST`] resets that fills by [`A_SECOND`].
struct Bucket {
    left: f64,
    filled: Instant,
}

impl Bucket {
    fn full() -> Bucket {
        Bucket {
            left: BURST,
            filled: Instant::now(),
        }
    }

    /// Takes so many; false once that were too many.
    fn take(&mut self, resets: u32) -> bool {
        if resets == 0 {
            return true;
        }
        let now = Instant::now();
        let filled = (now - self.filled).as_secs_f64() * A_SECOND;
        self.left = (self.left + filled).min(BURST) - f64::from(resets);
        self.filled = now;
        self.left >= 0.0
    }
}

/// The resets of one connection.
pub(super) struct Resets {
    /// Bytes of the preface that are still to come.
    preface: usize,
    received: Frames,
    /// Of the peer's own.
    own: Bucket,
    sent: Frames,
    /// Of those that the peer has this side send.
    caused: Bucket,
    /// The latest stream that was opened.
    latest: u32,
}

impl Resets {
    /// None yet, on a connection that opens with so many bytes before the first frame.
    pub(super) fn after(preface: usize) -> Resets {
        Resets {
            preface,
            received: Frames::default(),
            own: Bucket::full(),
            sent: Frames::default(),
            caused: Bucket::full(),
            latest: 0,
        }
    }

    /// Counts what the peer sent; false once that were too many resets.
    pub(super) fn allow(&mut self, bytes: &[u8]) -> bool {
        let preface = self.preface.min(bytes.len());
        self.preface -= preface;
        let mut rest = bytes.get(preface..).unwrap_or_default();
        let mut resets = 0_u32;
        while !rest.is_empty() {
            match self.received.next(&mut rest) {
                Some(frame) if frame.kind == RST_STREAM => resets += 1,
                Some(frame) if frame.kind == HEADERS => {
                    self.latest = self.latest.max(frame.stream);
                }
                Some(_) | None => {}
            }
        }
        self.own.take(resets)
    }

    /// Counts what was sent to the peer; false once it caused too many resets.
    pub(super) fn allow_sent(&mut self, bytes: &[u8]) -> bool {
        let caused = self.sent.pass(bytes);
        self.caused.take(caused)
    }

    /// Whether no frame to the peer is under way.
    pub(super) fn may_send(&self) -> bool {
        self.sent.is_between()
    }

    /// The frame that ends the connection: the peer asked for too much (RFC 9113, 6.8).
    pub(super) fn farewell(&self) -> [u8; HEADER + 8] {
        const GOAWAY: u8 = 7;
        const ENHANCE_YOUR_CALM: u8 = 11;
        let [a, b, c, d] = self.latest.to_be_bytes();
        [
            0,
            0,
            8,
            GOAWAY,
            0,
            0,
            0,
            0,
            0,
            a,
            b,
            c,
            d,
            0,
            0,
            0,
            ENHANCE_YOUR_CALM,
        ]
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Duration, advance};

    use super::*;

    /// A stream that is opened, with a payload of two bytes, and reset.
    fn reset(stream: u32) -> Vec<u8> {
        let [a, b, c, d] = stream.to_be_bytes();
        let opened = [0, 0, 2, HEADERS, 4, a, b, c, d, RST_STREAM, RST_STREAM];
        let reset = [0, 0, 4, RST_STREAM, 0, a, b, c, d, 0, 0, 0, 8];
        [&opened[..], &reset].concat()
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_allowed_and_one_reset_more_is_not_however_the_bytes_come() {
        for piece in [1, 7, 4096] {
            let mut resets = Resets::after(24);
            assert!(resets.allow(&[RST_STREAM; 24]), "the preface is no frame");
            let burst: Vec<u8> = (0..4096).flat_map(|call| reset(2 * call + 1)).collect();
            assert!(burst.chunks(piece).all(|bytes| resets.allow(bytes)));
            assert!(!resets.allow(&reset(8193)), "in pieces of {piece}");
            assert_eq!(resets.farewell()[9..13], 8193_u32.to_be_bytes());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_thousand_resets_a_second_go_on_for_ever_and_two_thousand_do_not() {
        let tenth = Duration::from_millis(100);
        let mut resets = Resets::after(0);
        for _tenth in 0..600 {
            assert!((0..100).all(|call| resets.allow(&reset(call))));
            advance(tenth).await;
        }
        let mut seconds = 0.0;
        while (0..200).all(|call| resets.allow(&reset(call))) {
            advance(tenth).await;
            seconds += 0.1;
        }
        assert!((3.5..4.5).contains(&seconds), "{seconds}");
    }

    /// A stream that this side resets with an error, between other frames.
    fn sent(error: u8) -> Vec<u8> {
        let data = [0, 0, 4, 0, 0, 0, 0, 0, 1, RST_STREAM, 0, 0, 2];
        let reset = [0, 0, 4, RST_STREAM, 0, 0, 0, 0, 1, 0, 0, 0, error];
        let acknowledged = [0, 0, 0, 4, 1, 0, 0, 0, 0];
        [&data[..], &reset, &acknowledged].concat()
    }

    #[tokio::test(start_paused = true)]
    async fn resets_that_the_peer_causes_are_allowed_in_a_burst_and_one_more_is_not() {
        const FLOW_CONTROL_ERROR: u8 = 3;
        for piece in [1, 7, 4096] {
            let mut resets = Resets::after(24);
            let burst = sent(FLOW_CONTROL_ERROR).repeat(4096);
            let mut pieces = burst.chunks(piece);
            assert!(pieces.all(|bytes| resets.allow_sent(bytes)));
            assert!(resets.may_send());
            assert!(resets.allow(&[0; 24]), "its own are others");
            assert!(resets.allow(&reset(1)), "its own are others");
            assert!(
                !resets.allow_sent(&sent(FLOW_CONTROL_ERROR)),
                "in pieces of {piece}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn resets_that_blame_nobody_are_sent_without_end() {
        const CANCEL: u8 = 8;
        let mut resets = Resets::after(0);
        for error in [0, CANCEL] {
            assert!((0..10_000).all(|_| resets.allow_sent(&sent(error))));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn calls_without_end_reset_nothing() {
        let mut resets = Resets::after(0);
        let data = [0, 0, 4, 0, 1, 0, 0, 0, 1, RST_STREAM, 3, 3, 3];
        assert!((0..10_000).all(|_| resets.allow(&data)));
    }

    #[test]
    fn a_frame_is_over_with_the_last_byte_of_its_payload() {
        let mut frames = Frames::default();
        assert!(frames.is_between());
        for byte in &reset(1)[..10] {
            frames.pass(&[*byte]);
            assert!(!frames.is_between());
        }
        frames.pass(&[0]);
        assert!(frames.is_between());
    }
}

//! Limits how fast a peer resets streams, by reading the frames that pass (RFC 9113, 4.1).
//!
//! HTTP/2 lets a peer open a stream and reset it at once. That costs the peer nothing, and a limit
//! on concurrent streams does not prevent it. h2 counts only resets of streams that it has not yet
//! handed to the server. A fast server takes streams at once, so h2 counts none. All resets are counted here, before h2
//! reads them.
//!
//! A peer gets the same effect with a frame that is a stream error: then this side resets the
//! stream. So resets that are written count too, except those for which the peer is not to blame.

use std::{num::NonZeroU32, time::Duration};

use archway_resilience::Bucket;

/// How many streams a connection may reset at once: four times as many as may be open.
const BURST: NonZeroU32 = NonZeroU32::new(4096).unwrap();
/// After that, 1,000 resets a second. A gateway resets a stream when a call was cancelled. Gateways
/// limit themselves to half of this burst and rate (`upstream::reset_pacer` there), because the
/// connection that ends here carries the calls of all tenants.
const RESET_INTERVAL: Duration = Duration::from_millis(1);

/// The length of a frame's header.
const HEADER: usize = 9;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
/// Error codes with which a stream is reset although its peer did nothing wrong: `NO_ERROR`, after
/// an answer that did not need all of the call, and `CANCEL` (RFC 9113, 7).
const BLAMELESS: [u32; 2] = [0, 8];

/// Finds the frame boundaries in a byte stream that arrives in pieces.
#[derive(Default)]
struct FrameReader {
    header: [u8; HEADER],
    /// Number of header bytes that have arrived.
    have: usize,
    /// Number of payload bytes that are still to come.
    payload: usize,
    /// The type of the latest frame.
    kind: u8,
    /// The latest four bytes of a payload. In a reset frame these are the whole payload: its error
    /// code.
    error: u32,
}

/// The header of a frame.
struct Frame {
    kind: u8,
    stream: u32,
}

impl FrameReader {
    /// Whether the stream is between two frames.
    fn is_between(&self) -> bool {
        self.have == 0 && self.payload == 0
    }

    /// Reads some bytes. Returns how many resets ended in them for which the peer is to blame.
    fn count_blamed_resets(&mut self, bytes: &[u8]) -> u32 {
        let mut rest = bytes;
        let mut blaming = 0;
        while !rest.is_empty() {
            self.next(&mut rest);
            let is_reset = self.is_between() && self.kind == RST_STREAM;
            blaming += u32::from(is_reset && !BLAMELESS.contains(&self.error));
        }
        blaming
    }

    /// Reads up to the end of a header, which is returned, or up to the end of a payload.
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

/// A full bucket of resets.
fn reset_bucket() -> Bucket {
    Bucket::new(BURST, RESET_INTERVAL)
}

/// The reset limits of one connection.
pub(super) struct Resets {
    /// Bytes of the preface that are still to come.
    preface: usize,
    received: FrameReader,
    /// Counts the resets that the peer sends.
    received_resets: Bucket,
    sent: FrameReader,
    /// Counts the resets that the peer makes this side send.
    caused_resets: Bucket,
    /// The latest stream that the peer opened.
    latest: u32,
}

impl Resets {
    /// Full limits of a connection that starts with `preface` bytes before the first frame.
    pub(super) fn after(preface: usize) -> Resets {
        Resets {
            preface,
            received: FrameReader::default(),
            received_resets: reset_bucket(),
            sent: FrameReader::default(),
            caused_resets: reset_bucket(),
            latest: 0,
        }
    }

    /// Counts bytes that the peer sent. Returns false once they hold too many resets.
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
        self.received_resets.take(resets)
    }

    /// Counts bytes that were sent to the peer. Returns false once the peer caused too many resets.
    pub(super) fn allow_sent(&mut self, bytes: &[u8]) -> bool {
        let caused_resets = self.sent.count_blamed_resets(bytes);
        self.caused_resets.take(caused_resets)
    }

    /// Whether the stream to the peer is between two frames.
    pub(super) fn may_send(&self) -> bool {
        self.sent.is_between()
    }

    /// The GOAWAY frame that ends the connection with `ENHANCE_YOUR_CALM` (RFC 9113, 6.8).
    pub(super) fn go_away(&self) -> [u8; HEADER + 8] {
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
    async fn a_burst_of_4096_resets_is_allowed_and_one_more_is_not() {
        for piece in [1, 7, 4096] {
            let mut resets = Resets::after(24);
            assert!(resets.allow(&[RST_STREAM; 24]), "the preface is no frame");
            let burst: Vec<u8> = (0..4096).flat_map(|call| reset(2 * call + 1)).collect();
            assert!(burst.chunks(piece).all(|bytes| resets.allow(bytes)));
            assert!(!resets.allow(&reset(8193)), "in pieces of {piece}");
            assert_eq!(resets.go_away()[9..13], 8193_u32.to_be_bytes());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_thousand_resets_per_second_are_allowed_and_two_thousand_are_not() {
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
    async fn a_burst_of_4096_provoked_resets_is_allowed_and_one_more_is_not() {
        const FLOW_CONTROL_ERROR: u8 = 3;
        for piece in [1, 7, 4096] {
            let mut resets = Resets::after(24);
            let burst = sent(FLOW_CONTROL_ERROR).repeat(4096);
            let mut pieces = burst.chunks(piece);
            assert!(pieces.all(|bytes| resets.allow_sent(bytes)));
            assert!(resets.may_send());
            assert!(
                resets.allow(&[0; 24]),
                "the peer's own resets have a bucket of their own"
            );
            assert!(
                resets.allow(&reset(1)),
                "the peer's own resets have a bucket of their own"
            );
            assert!(
                !resets.allow_sent(&sent(FLOW_CONTROL_ERROR)),
                "in pieces of {piece}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn blameless_resets_are_never_limited() {
        const CANCEL: u8 = 8;
        let mut resets = Resets::after(0);
        for error in [0, CANCEL] {
            assert!((0..10_000).all(|_| resets.allow_sent(&sent(error))));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn data_frames_never_count_as_resets() {
        let mut resets = Resets::after(0);
        let data = [0, 0, 4, 0, 1, 0, 0, 0, 1, RST_STREAM, 3, 3, 3];
        assert!((0..10_000).all(|_| resets.allow(&data)));
    }

    #[test]
    fn a_frame_ends_with_the_last_byte_of_its_payload() {
        let mut frames = FrameReader::default();
        assert!(frames.is_between());
        for byte in &reset(1)[..10] {
            frames.count_blamed_resets(&[*byte]);
            assert!(!frames.is_between());
        }
        frames.count_blamed_resets(&[0]);
        assert!(frames.is_between());
    }
}

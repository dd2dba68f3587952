//! Bounds the arenas of the C library's allocator.
//!
//! glibc gives threads their own arenas, up to eight per core, and memory freed in one arena cannot be
//! used by another. A worker runs calls, searches and indexing on many threads, and so would use half
//! as much memory again (`benches/start`). One arena per core is as fast.

use std::thread::available_parallelism;

/// With a single arena, threads would wait for one another.
const LEAST: usize = 2;

/// Limits the allocator to one arena per core. Must be called before threads start.
pub(crate) fn bound() {
    let cores = available_parallelism().map_or(LEAST, |cores| cores.get().max(LEAST));
    let arenas = i32::try_from(cores).unwrap_or(i32::MAX);
    // Failure is harmless: the allocator then uses more memory.
    #[expect(unsafe_code, reason = "rustix has no mallopt")]
    // SAFETY: `mallopt` takes two numbers and changes an allocator parameter under its own lock.
    let _done = unsafe { libc::mallopt(libc::M_ARENA_MAX, arenas) };
}

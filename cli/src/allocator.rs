//! How many arenas the C library's allocator may have.
//!
//! glibc gives threads arenas of their own, up to eight a core, and memory that was freed in one is
//! no use to another: a worker, whose calls, searches and indexes run on many threads, keeps half
//! as much again as it needs (`benches/start`). One a core is as fast.

use std::thread::available_parallelism;

/// With a single one, threads would wait for each other.
const LEAST: usize = 2;

/// Has the allocator make no more than one arena a core. Call it before there are threads.
pub(crate) fn bound() {
    let cores = available_parallelism().map_or(LEAST, |cores| cores.get().max(LEAST));
    let arenas = i32::try_from(cores).unwrap_or(i32::MAX);
    // What it can't do it leaves: there is nothing to tell anybody.
    #[expect(unsafe_code, reason = "rustix has no mallopt")]
    // SAFETY: it takes two numbers and changes a parameter of the allocator, under its own lock.
    let _done = unsafe { libc::mallopt(libc::M_ARENA_MAX, arenas) };
}

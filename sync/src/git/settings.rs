//! What git is told at each start.

/// Settings of every run: nothing that a repository configures runs, and nothing runs by itself.
pub(super) const SETTINGS: [&str; 32] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.askPass=",
    "core.alternateRefsCommand=true",
    "credential.helper=",
    "credential.interactive=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "fetch.recurseSubmodules=false",
    "submodule.recurse=false",
    "fetch.writeCommitGraph=false",
    "transfer.fsckObjects=true",
    // Old repositories have these for ever, and nothing trusts what they say.
    "fetch.fsck.zeroPaddedFilemode=ignore",
    "fetch.fsck.badTimezone=ignore",
    "fetch.fsck.missingSpaceBeforeDate=ignore",
    "fetch.fsck.missingSpaceBeforeEmail=ignore",
    "fetch.fsck.missingNameBeforeEmail=ignore",
    "fetch.fsck.missingEmail=ignore",
    "fetch.fsck.badEmail=ignore",
    "transfer.unpackLimit=1",
    "transfer.bundleURI=false",
    "http.followRedirects=false",
    "http.lowSpeedLimit=1",
    "safe.directory=*",
    "protocol.version=2",
    // Several runs share the memory of a container. Of each thread git keeps bases of deltas and a window of objects.
    "pack.threads=2",
    "pack.windowMemory=32m",
    "pack.deltaCacheSize=32m",
    "core.deltaBaseCacheLimit=32m",
    "core.packedGitWindowSize=16m",
    "core.packedGitLimit=128m",
    // Larger files pass through without being held as a whole.
    "core.bigFileThreshold=16m",
];

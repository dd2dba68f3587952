//! What this machine is called, and so a gateway or worker that was given no name.

/// The host's name, or this one where it has none.
pub(crate) fn host_name(otherwise: &str) -> String {
    let system = rustix::system::uname();
    let name = system.nodename().to_string_lossy();
    match name.trim() {
        "" => otherwise.to_owned(),
        name => name.to_owned(),
    }
}

//! The operating system's user that this process runs as, for the records of administration.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

/// The most of the list of users that is read, in bytes.
const MOST: u64 = 1 << 20;

/// The user's name, from `/etc/passwd`; `uid 65532` for one that is not in it, as in a container.
pub(super) fn name() -> String {
    // The effective user is the one whose rights the process has; variables such as `USER` can be set by anyone.
    let uid = rustix::process::geteuid().as_raw();
    let listed = File::open("/etc/passwd").ok();
    let listed = listed.and_then(|list| named(BufReader::new(list.take(MOST)), uid));
    listed.unwrap_or_else(|| format!("uid {uid}"))
}

/// The first name of the user with this id.
fn named(list: impl BufRead, uid: u32) -> Option<String> {
    let uid = uid.to_string();
    let mut lines = list.lines().map_while(Result::ok);
    lines.find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1)? == uid).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_id_and_otherwise_named_by_it() {
        let list = "root:x:0:0:root:/root:/bin/sh\n\nbroken\n:x:7:\nada:x:1000:1000::/home/ada:\n";
        let of = |uid| named(list.as_bytes(), uid);
        assert_eq!(of(0).as_deref(), Some("root"));
        assert_eq!(of(1000).as_deref(), Some("ada"));
        assert_eq!((of(7), of(2)), (None, None));
        assert!(!name().is_empty());
    }
}

//! Confinement of a worker's threads: code on its blocking pool cannot open anything outside the mounts.

use std::{fs, io::ErrorKind, sync::mpsc, thread};

use archway_repo::confine::{Confinement, confine};

#[test]
fn a_blocking_task_of_a_worker_cannot_open_etc_passwd() {
    let mount = tempfile::tempdir().unwrap();
    let inside = mount.path().join("a.txt");
    fs::write(&inside, "a").unwrap();
    let folders = [mount.path().to_owned()];
    let (send, outcome) = mpsc::channel();
    thread::spawn(move || {
        let confinement = confine(&folders, &[]).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let read = runtime.block_on(async {
            tokio::task::spawn_blocking(move || {
                let made = fs::write(inside.with_file_name("b.txt"), "b");
                (fs::read_to_string(&inside), fs::read("/etc/passwd"), made)
            })
            .await
            .unwrap()
        });
        send.send((confinement, read)).unwrap();
    });
    let (confinement, (inside, passwd, made)) = outcome.recv().unwrap();
    assert_eq!(inside.unwrap(), "a");
    if confinement != Confinement::Absent {
        assert_eq!(passwd.unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert_eq!(made.unwrap_err().kind(), ErrorKind::PermissionDenied);
    } else {
        println!("not tried: this kernel has no Landlock");
    }
}

//! A host of git repositories on loopback, by http: git's own `http-backend` behind a small server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Serves until the test process ends.
pub(crate) struct GitHttp {
    folder: PathBuf,
    port: u16,
}

pub(crate) struct Request {
    /// Method, path and query.
    pub(crate) line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl GitHttp {
    /// Serves the repositories in a folder to those who send `Basic` and this, or to all.
    pub(crate) fn start(folder: &Path, credential: Option<&'static str>) -> GitHttp {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let root = folder.to_owned();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let root = root.clone();
                std::thread::spawn(move || answer(stream, &root, credential));
            }
        });
        let folder = folder.to_owned();
        GitHttp { folder, port }
    }

    /// Makes a repository with one file, and returns its URL.
    pub(crate) fn add(&self, name: &str, text: &str) -> String {
        let folder = self.folder.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("greeting.txt"), text).unwrap();
        for line in ["init -q", "add -A", "commit -q -m one"] {
            git(&folder, line);
        }
        format!("http://127.0.0.1:{}/{name}/.git", self.port)
    }
}

impl Request {
    pub(crate) fn read(stream: impl Read) -> Option<Request> {
        let mut lines = BufReader::new(stream);
        let mut next = || {
            let mut line = String::new();
            lines.read_line(&mut line).ok()?;
            Some(line.trim_end().to_owned())
        };
        let line = next()?;
        let mut headers = Vec::new();
        while let Some((name, value)) = next()?.split_once(": ") {
            headers.push((name.to_lowercase(), value.to_owned()));
        }
        let mut request = Request {
            line,
            headers,
            body: Vec::new(),
        };
        let length = request.header("content-length").parse().unwrap_or(0);
        request.body.resize(length, 0);
        lines.read_exact(&mut request.body).ok()?;
        Some(request)
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value.as_str())
    }
}

fn answer(mut stream: TcpStream, root: &Path, credential: Option<&str>) {
    let Some(request) = Request::read(&stream) else {
        return;
    };
    stream
        .write_all(&git_answer(&request, root, credential))
        .ok();
}

/// The answer of git's `http-backend` for the repositories in a folder.
pub(crate) fn git_answer(request: &Request, root: &Path, credential: Option<&str>) -> Vec<u8> {
    let expected = credential.map(|credential| format!("Basic {credential}"));
    if expected.is_some_and(|expected| request.header("authorization") != expected) {
        let refusal = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"git\"\r\n\
                       Content-Length: 0\r\nConnection: close\r\n\r\n";
        return refusal.as_bytes().to_vec();
    }
    let mut parts = request.line.split(' ');
    let (method, target) = (parts.next().unwrap(), parts.next().unwrap());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut backend = Command::new("git");
    backend
        .args(["-c", "safe.directory=*", "http-backend"])
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("REQUEST_METHOD", method)
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("CONTENT_TYPE", request.header("content-type"))
        .env("HTTP_CONTENT_ENCODING", request.header("content-encoding"))
        .env("GIT_PROTOCOL", request.header("git-protocol"))
        .env("CONTENT_LENGTH", request.body.len().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = backend.spawn().unwrap();
    // A git that needs no more has closed it.
    child.stdin.take().unwrap().write_all(&request.body).ok();
    let output = child.wait_with_output().unwrap().stdout;
    let status = match output.strip_prefix(b"Status: ") {
        Some(_) => "HTTP/1.1 404 Not Found\r\n",
        None => "HTTP/1.1 200 OK\r\n",
    };
    let head = format!("{status}Connection: close\r\n");
    [head.as_bytes(), &output].concat()
}

/// Runs git, with the arguments of a line.
pub(crate) fn git(folder: &Path, line: &str) {
    let mut command = Command::new("git");
    command.current_dir(folder).args(line.split(' '));
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "A");
        command.env(format!("GIT_{who}_EMAIL"), "a@localhost");
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null");
    assert!(command.status().unwrap().success(), "git {line}");
}

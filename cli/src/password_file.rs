//! Passwords of database roles in files: `archway migrate` sets them from there, and a database URL
//! without a password is completed with one.
//!
//! Container platforms mount secrets as files, and a file needs no escaping of `/` as `%2F`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};

/// Why a password file cannot be used. Never contains the password.
#[derive(Debug, thiserror::Error)]
pub enum PasswordFileError {
    /// It cannot be read.
    #[error("reading the password file {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// It is empty.
    #[error("the password file {} is empty", .0.display())]
    Empty(PathBuf),
    /// It contains characters that clients encode differently.
    #[error(
        "the password file {} holds more than one line, or characters that are not plain ASCII; \
         choose a password of letters, digits and signs", .0.display()
    )]
    Odd(PathBuf),
    /// Both the URL and the file hold a password.
    #[error(
        "the database URL holds a password, and {} is to be read for one: leave one of them out",
        .0.display()
    )]
    Twice(PathBuf),
    /// The URL names no role for the password.
    #[error(
        "the database URL names no role for the password in {}: write it as \
         postgres://role@host/database", .0.display()
    )]
    Nobodys(PathBuf),
}

/// Reads a password, without a final newline.
pub(crate) fn read(path: &Path) -> Result<SecretString, PasswordFileError> {
    let text = fs::read_to_string(path).map_err(|source| PasswordFileError::Read {
        path: path.to_owned(),
        source,
    })?;
    let password = text.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        return Err(PasswordFileError::Empty(path.to_owned()));
    }
    // Non-ASCII passwords would need normalization (SASLprep), which clients implement differently.
    if !password.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Err(PasswordFileError::Odd(path.to_owned()));
    }
    Ok(password.into())
}

/// A database URL with the password of `file`; unchanged without a file.
pub(crate) fn complete(
    url: &SecretString,
    file: Option<&Path>,
) -> Result<SecretString, PasswordFileError> {
    let Some(file) = file else {
        return Ok(url.clone());
    };
    let password = read(file)?;
    let nobodys = || PasswordFileError::Nobodys(file.to_owned());
    let (scheme, rest) = url.expose_secret().split_once("://").ok_or_else(nobodys)?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (role, _host) = authority.rsplit_once('@').ok_or_else(nobodys)?;
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    let mut parameters = query
        .split('&')
        .map(|it| it.split('=').next().unwrap_or_default());
    if role.contains(':') || parameters.any(|name| name == "password") {
        return Err(PasswordFileError::Twice(file.to_owned()));
    }
    if role.is_empty() {
        return Err(nobodys());
    }
    let from_host_on = rest.strip_prefix(role).unwrap_or_default();
    let password = percent_encoded(password.expose_secret());
    Ok(format!("{scheme}://{role}:{password}{from_host_on}").into())
}

fn percent_encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte.is_ascii_alphanumeric() {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use sqlx::postgres::PgConnectOptions;

    use super::*;

    #[test]
    fn a_password_file_may_end_its_line_and_must_not_be_empty() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        fs::write(&file, "it's \"quoted\" \n").unwrap();
        assert_eq!(read(&file).unwrap().expose_secret(), "it's \"quoted\" ");
        fs::write(&file, "\n").unwrap();
        assert!(matches!(read(&file), Err(PasswordFileError::Empty(_))));
        for odd in ["sésame", "two\nlines", "tab\t"] {
            fs::write(&file, odd).unwrap();
            let refusal = read(&file).unwrap_err();
            assert!(matches!(refusal, PasswordFileError::Odd(_)), "{odd}");
            assert!(!refusal.to_string().contains(odd));
        }
        let missing = folder.path().join("missing");
        assert!(matches!(
            read(&missing),
            Err(PasswordFileError::Read { .. })
        ));
    }

    #[test]
    fn any_password_of_a_file_is_encoded_into_the_url() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        fs::write(&file, "a/b@c:%d e?#\n").unwrap();
        let url = "postgres://archway_worker@db:5432/archway?sslmode=disable";
        let url = complete(&url.into(), Some(&file)).unwrap();
        assert_eq!(
            url.expose_secret(),
            "postgres://archway_worker:a%2Fb%40c%3A%25d%20e%3F%23@db:5432/archway?sslmode=disable"
        );
        let read: PgConnectOptions = url.expose_secret().parse().unwrap();
        assert_eq!(
            (read.get_host(), read.get_username(), read.get_database()),
            ("db", "archway_worker", Some("archway"))
        );
        let as_it_is = "postgres://a:b@c/d";
        let untouched = complete(&as_it_is.into(), None).unwrap();
        assert_eq!(untouched.expose_secret(), as_it_is);
    }

    #[test]
    fn a_file_needs_a_url_with_a_role_and_without_a_password() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        fs::write(&file, "sesame").unwrap();
        let refusal = |url: &str| complete(&url.into(), Some(&file)).unwrap_err();
        let twice = refusal("postgres://a:hush@db/archway");
        assert!(matches!(twice, PasswordFileError::Twice(_)));
        assert!(!twice.to_string().contains("hush"));
        for url in ["postgres://db/archway?user=a@b", "postgres://@db/a", "db"] {
            assert!(
                matches!(refusal(url), PasswordFileError::Nobodys(_)),
                "{url}"
            );
        }
    }
}

//! The answer as markdown, in the form of the contract.

use std::fmt::Write as _;

use super::answer::{FileDiff, GitDiffAnswer, Status};
use crate::tools::git::markdown::{fence, line as one_line};

/// The sections of the summary, in order, and the statuses of their files.
const SECTIONS: [(&str, &[Status]); 4] = [
    ("Modified", &[Status::Modified, Status::TypeChanged]),
    ("Added", &[Status::Added]),
    ("Deleted", &[Status::Deleted]),
    ("Renamed", &[Status::Renamed]),
];

/// The kinds of binary files, by extension.
const KINDS: [(&str, &[&str]); 5] = [
    (
        "images",
        &[
            "png", "jpg", "jpeg", "gif", "ico", "webp", "bmp", "avif", "tiff",
        ],
    ),
    ("fonts", &["woff", "woff2", "ttf", "otf", "eot"]),
    (
        "archives",
        &["zip", "tar", "gz", "bz2", "xz", "zst", "7z", "jar"],
    ),
    ("media", &["mp3", "mp4", "wav", "ogg", "webm", "avi", "mov"]),
    ("documents", &["pdf", "docx", "xlsx", "pptx"]),
];

/// The markdown of an answer.
pub(super) fn of(answer: &GitDiffAnswer, title: &str) -> String {
    let title = one_line(title);
    let mut text = String::new();
    // Writing to a String never fails.
    _ = if answer.files_changed == 0 {
        write!(text, "# Git Diff: {title}\n\nNo differences.\n")
            .and_then(|()| note(&mut text, answer))
    } else if answer.summary_only {
        summary(&mut text, answer, &title)
    } else {
        full(&mut text, answer, &title)
    };
    text
}

fn full(text: &mut String, answer: &GitDiffAnswer, title: &str) -> std::fmt::Result {
    write!(
        text,
        "# Git Diff: {title}\n\n## Summary\n- **Files Changed**: {}\n- **Insertions**: +{} \
         lines\n- **Deletions**: -{} lines\n",
        answer.files_changed, answer.insertions, answer.deletions
    )?;
    note(text, answer)?;
    for file in &answer.files {
        section(text, file)?;
    }
    Ok(())
}

fn section(text: &mut String, file: &FileDiff) -> std::fmt::Result {
    let path = one_line(&file.path);
    let status = match (file.status, &file.old_path) {
        (Status::Renamed, Some(old)) => format!("renamed from {}", one_line(old)),
        (Status::Added, _) => "added".to_owned(),
        (Status::Deleted, _) => "deleted".to_owned(),
        (Status::TypeChanged, _) => "type changed".to_owned(),
        (Status::Modified | Status::Renamed, _) => "modified".to_owned(),
    };
    let (insertions, deletions) = (file.insertions, file.deletions);
    write!(
        text,
        "\n---\n\n## File: {path} ({status})\n**Changes**: +{insertions} -{deletions}\n"
    )?;
    if let (Some(old), Some(new)) = (&file.old_mode, &file.mode) {
        write!(text, "\nMode changed: {old} to {new}\n")?;
    }
    match &file.patch {
        Some(patch) => {
            let fence = fence(patch.lines());
            write!(text, "\n{fence}diff\n{patch}{fence}\n")
        }
        None if file.binary => text.write_str("\nBinary file changed\n"),
        None if file.too_large => text.write_str("\nFile too large to compare\n"),
        None if file.is_patch_missing => text.write_str("\nPatch left out\n"),
        None => Ok(()),
    }
}

fn summary(text: &mut String, answer: &GitDiffAnswer, title: &str) -> std::fmt::Result {
    write!(
        text,
        "# Git Diff Summary: {title}\n\n- **Files Changed**: {}\n- **Insertions**: +{} lines\n\
         - **Deletions**: -{} lines\n",
        thousands(answer.files_changed),
        thousands(answer.insertions),
        thousands(answer.deletions)
    )?;
    note(text, answer)?;
    for (name, statuses) in SECTIONS {
        let files = answer.files.iter();
        let files: Vec<_> = files
            .filter(|file| statuses.contains(&file.status))
            .collect();
        if files.is_empty() {
            continue;
        }
        write!(text, "\n### {name} Files ({}):\n", files.len())?;
        for file in files {
            line(text, file)?;
        }
    }
    binary_files(text, answer)
}

fn line(text: &mut String, file: &FileDiff) -> std::fmt::Result {
    let (insertions, deletions) = (thousands(file.insertions), thousands(file.deletions));
    let changes = match file.status {
        _ if file.binary => "binary".to_owned(),
        _ if file.too_large => "too large to compare".to_owned(),
        Status::Added => format!("+{insertions}"),
        Status::Deleted => format!("-{deletions}"),
        Status::Modified | Status::Renamed | Status::TypeChanged => {
            format!("+{insertions} -{deletions}")
        }
    };
    let path = one_line(&file.path);
    match &file.old_path {
        Some(old) => writeln!(text, "- {path} (from {}) ({changes})", one_line(old)),
        None => writeln!(text, "- {path} ({changes})"),
    }
}

fn binary_files(text: &mut String, answer: &GitDiffAnswer) -> std::fmt::Result {
    let (count, files) = (
        answer.binary_files,
        match answer.binary_files {
            0 => return Ok(()),
            1 => "file",
            _ => "files",
        },
    );
    let is_of = |extensions: &[&str]| {
        let mut files = answer.files.iter().filter(|file| file.binary);
        files.any(|file| {
            let extension = file.path.rsplit('.').next().unwrap_or_default();
            extensions.contains(&extension.to_ascii_lowercase().as_str())
        })
    };
    let kinds = KINDS.iter().filter(|(_, extensions)| is_of(extensions));
    let kinds: Vec<_> = kinds.map(|(kind, _)| *kind).collect();
    let kinds = match kinds.is_empty() {
        true => String::new(),
        false => format!(" ({})", kinds.join(", ")),
    };
    let count = thousands(count);
    write!(
        text,
        "\n**Binary Files**: {count} binary {files} changed{kinds}\n"
    )
}

fn note(text: &mut String, answer: &GitDiffAnswer) -> std::fmt::Result {
    text.write_str(&super::super::markdown::note(answer.note.as_deref()))
}

/// Formats a number with a comma before every third digit from its end.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

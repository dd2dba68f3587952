//! Turns a page's blocks into steps: files to write, and commands with expected outputs.

use crate::pages::{Block, Mark, Page};

/// The languages of blocks that contain commands.
const SHELLS: [&str; 3] = ["sh", "bash", "console"];

/// A step of a scenario, in order.
#[derive(Debug)]
pub(crate) enum Step {
    File { name: String, text: String },
    Command(Command),
}

#[derive(Debug)]
pub(crate) struct Command {
    /// `README.md:120`.
    pub(crate) installation: String,
    pub(crate) text: String,
    /// The expected output; `None` in a block without outputs.
    pub(crate) shown: Option<Vec<String>>,
}

/// The blocks of one scenario of one page.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) page: String,
    /// The kind of its stage.
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
}

/// What a page requires to be run, and outputs that belong to no scenario.
#[derive(Debug, Default)]
pub(crate) struct PageSteps {
    pub(crate) scenarios: Vec<Scenario>,
    pub(crate) homeless: Vec<Command>,
}

pub(crate) fn found(page: &Page) -> PageSteps {
    let mut found = PageSteps::default();
    // Files belong to the scenario whose command comes next.
    let mut files = Vec::new();
    for block in page.blocks() {
        let is_shell = SHELLS.contains(&block.language.as_str());
        match &block.mark {
            Some(Mark::File(name)) => files.push(Step::File {
                name: name.clone(),
                text: block.text,
            }),
            Some(Mark::Scenario(name)) => {
                let scenario = found.scenario(page, name);
                scenario.steps.append(&mut files);
                let commands = commands(page, &block);
                scenario
                    .steps
                    .extend(commands.into_iter().map(Step::Command));
            }
            // `samples.rs` writes it.
            Some(Mark::Sample(_)) => {}
            None if is_shell || prompts(&block) => {
                found.homeless.extend(commands(page, &block));
            }
            None => {}
        }
    }
    assert!(
        files.is_empty(),
        "{}: a file that no command uses: {files:?}",
        page.path
    );
    found
}

impl PageSteps {
    fn scenario(&mut self, page: &Page, name: &str) -> &mut Scenario {
        let (kind, name) = name.split_once('/').unwrap_or((name, ""));
        let known = self
            .scenarios
            .iter()
            .position(|it| it.kind == kind && it.name == name);
        let index = known.unwrap_or_else(|| {
            self.scenarios.push(Scenario {
                page: page.path.clone(),
                kind: kind.to_owned(),
                name: name.to_owned(),
                steps: Vec::new(),
            });
            self.scenarios.len() - 1
        });
        &mut self.scenarios[index]
    }
}

/// Whether a block without a language shows a prompt. It contains commands as well.
fn prompts(block: &Block) -> bool {
    block.language.is_empty() && block.text.lines().any(|line| line.starts_with("$ "))
}

fn commands(page: &Page, block: &Block) -> Vec<Command> {
    match block.language.as_str() {
        "sh" | "bash" => plain(page, block),
        _ => transcript(page, block),
    }
}

/// A block of commands only. A line continues if it ends in `\` or has open quotes.
fn plain(page: &Page, block: &Block) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    let mut open = false;
    for (index, line) in block.text.lines().enumerate() {
        if open {
            go_on(&mut commands, line);
        } else if line.trim().is_empty() || line.starts_with('#') {
            continue;
        } else {
            commands.push(command(page, block, index, line));
        }
        open = is_open(&commands.last().unwrap().text);
    }
    commands
}

/// `$ ` begins a command; the lines after it are its output.
fn transcript(page: &Page, block: &Block) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    let mut open = false;
    for (index, line) in block.text.lines().enumerate() {
        if open {
            go_on(&mut commands, line);
        } else if let Some(line) = line.strip_prefix("$ ") {
            let mut command = command(page, block, index, line);
            command.shown = Some(Vec::new());
            commands.push(command);
        } else {
            let last = commands.last_mut();
            let last = last
                .unwrap_or_else(|| panic!("{}:{}: an answer to nothing", page.path, block.line));
            last.shown.get_or_insert_default().push(line.to_owned());
            continue;
        }
        open = is_open(&commands.last().unwrap().text);
    }
    commands
}

fn command(page: &Page, block: &Block, index: usize, line: &str) -> Command {
    Command {
        installation: format!("{}:{}", page.path, block.line + 1 + index),
        text: line.to_owned(),
        shown: None,
    }
}

/// Appends a line to the last command.
fn go_on(commands: &mut [Command], line: &str) {
    let last = commands.last_mut().unwrap();
    last.text.push('\n');
    last.text.push_str(line);
}

fn is_open(text: &str) -> bool {
    let quotes = text.chars().filter(|it| *it == '\'').count();
    text.ends_with('\\') || quotes % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::tests::page;

    #[test]
    fn lines_that_go_on_are_one_command() {
        let page = page("<!-- scenario: k -->\n```sh\n# why\na \\\n  b\nc 'd\ne'\n```\n");
        let found = found(&page);
        let texts: Vec<&str> = found.scenarios[0]
            .steps
            .iter()
            .filter_map(|step| match step {
                Step::Command(command) => Some(command.text.as_str()),
                Step::File { .. } => None,
            })
            .collect();
        assert_eq!(texts, ["a \\\n  b", "c 'd\ne'"]);
    }

    #[test]
    fn what_follows_a_prompt_is_its_answer_and_without_a_mark_it_is_homeless() {
        let found = found(&page("```\n$ a\nb\n\nc\n$ d\n```\n```json\n$ no\n```\n"));
        let shown: Vec<_> = found
            .homeless
            .iter()
            .map(|it| it.shown.clone().unwrap())
            .collect();
        assert_eq!(shown, [vec!["b", "", "c"], vec![]]);
        assert_eq!(found.homeless[1].installation, "page.md:6");
    }
}

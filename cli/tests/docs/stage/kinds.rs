//! How each kind of stage is set up.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use sqlx::postgres::PgConnectOptions;

use super::github::Github;
use super::names::{Ports, Role, as_role, of_database, of_hosts};
use super::{Absent, Cluster, Stage, folder, repository, shell};
use crate::git_http::GitHttp;
use crate::installation::Installation;
use crate::pages::root;

/// The calls of `called`, with a key that lives as long as the scenario.
const CALLS: &str = r#"
for arguments in '"hello","arguments":{}' '"read_file","arguments":{"path":"src/greeting.txt"}' \
    '"read_file","arguments":{"path":".env"}' '"list_files","arguments":{}'; do
    curl --silent --fail --max-time 20 "$DOCS_MCP" -H "Authorization: Bearer $key" \
        -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
        -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":'"$arguments"'}}' >/dev/null || exit 1
done"#;

/// What an operator creates first, and the release. The double ignores these keys.
const RELEASE: &str = "kubectl create namespace archway \
    && kubectl --namespace archway create secret generic archway-credentials \
        --from-literal=secret=a --from-literal=pass.key=b --from-literal=pass.pub=c \
    && kubectl --namespace archway create secret generic archway-database \
        --from-literal=migrate-url=d --from-literal=gateway-url=e --from-literal=worker-url=f --from-literal=sync-url=g \
    && helm install archway helm/archway --namespace archway --values values.yaml --wait --timeout 60s";

pub(super) fn set(kind: &str) -> Result<Stage, Absent> {
    match kind {
        "hosts" => Ok(hosts()),
        "prepared" => Ok(prepared()),
        "installation" => Ok(installation()),
        "called" => Ok(called()),
        "alerted" => Ok(alerted()),
        "mirrored" => Ok(mirrored()),
        "dev" => Ok(dev()),
        "clients" => clients(),
        "samples" => Ok(samples()),
        "cluster" => cluster(),
        "release" => release(),
        "shared" => shared(),
        "compose" => compose(),
        _ => panic!("no stage is called {kind}"),
    }
}

fn hosts() -> Stage {
    let (folder, ports) = (folder(), Ports::free());
    let databases = vec![Installation::unmigrated(), Installation::unmigrated()];
    let mut names = of_hosts(&ports, folder.path());
    names.extend(of_database("archway", &databases[0]));
    names.extend(of_database("restored", &databases[1]));
    Stage {
        shell: shell(folder.path(), &ports, &[]),
        names,
        folder,
        _cluster: None,
        _databases: databases,
    }
}

/// The options of roles for database, files and one another are in variables.
fn prepared() -> Stage {
    let (folder, ports) = (folder(), Ports::free());
    let databases = vec![Installation::new(), Installation::unmigrated()];
    let mut names = of_hosts(&ports, folder.path());
    names.extend(of_database("archway", &databases[0]));
    names.extend(of_database("restored", &databases[1]));
    let owner: PgConnectOptions = databases[0].url().parse().unwrap();
    let socket = owner.get_socket().map(|it| it.display().to_string());
    let gateway = format!("127.0.0.1:{}", ports.of(Role::Gateway));
    let secret = databases[0].folder.path().join("secret");
    let variables = [
        ("ARCHWAY_MIGRATE_DATABASE_URL", as_role(&databases[0], None)),
        ("ARCHWAY_SECRET_FILE", secret.display().to_string()),
        (
            "DOCS_WORKER_URL",
            as_role(&databases[0], Some("archway_worker")),
        ),
        (
            "DOCS_GATEWAY_URL",
            as_role(&databases[0], Some("archway_gateway")),
        ),
        (
            "DOCS_SYNC_URL",
            as_role(&databases[0], Some("archway_sync")),
        ),
        ("DOCS_MCP", format!("http://{gateway}/mcp")),
        (
            "DOCS_PGHOST",
            socket.unwrap_or_else(|| owner.get_host().to_owned()),
        ),
        ("DOCS_PGUSER", owner.get_username().to_owned()),
        ("DOCS_PGDATABASE", owner.get_database().unwrap().to_owned()),
    ];
    let shell = shell(folder.path(), &ports, &variables);
    let mut stage = Stage {
        shell,
        names,
        folder,
        _cluster: None,
        _databases: databases,
    };
    stage.prepare("archway pass-key generate --out . >/dev/null");
    stage.prepare(
        "export ARCHWAY_REPOS=repos ARCHWAY_PASS_PUBLIC_FILE=pass.pub ARCHWAY_WORKER_NAME=worker-0",
    );
    stage.prepare(
        "export ARCHWAY_PASS_KEY_FILE=pass.key ARCHWAY_WORKERS=http://$ARCHWAY_WORKER_LISTEN",
    );
    stage
}

fn installation() -> Stage {
    let mut stage = prepared();
    stage.prepare("archway worker");
    stage.prepare("archway gateway");
    stage
}

/// The worker starts after the project exists, because otherwise it would notice it seconds later.
fn called() -> Stage {
    let mut stage = prepared();
    stage.prepare("archway tenant create acme && archway project add acme site");
    stage.prepare("key=$(archway key issue acme --label ci --json | grep -o 'awy_[^\"]*')");
    stage.prepare("archway worker && archway gateway");
    stage.prepare(&format!("({CALLS}\n)"));
    // Chains end with their gateway.
    stage.prepare("kill \"$(cat gateway.pid)\"");
    stage.prepare("while kill -0 \"$(cat gateway.pid)\" 2>/dev/null; do sleep 0.1; done");
    stage
}

fn alerted() -> Stage {
    let mut stage = called();
    stage.prepare("archway gateway");
    let id = stage.prepare("cut -d _ -f 2 <<<$key");
    stage.names.push(("bu6mltErMopy".to_owned(), id));
    stage
}

/// `github.com` of pages is a double, whose repositories need the token in `credentials/github`.
fn mirrored() -> Stage {
    let mut stage = installation();
    let github = Github::start(&stage.folder.path().join("github"), "ghp_sesame");
    for repository in ["api", "legacy-billing", "web"] {
        github.add(repository);
    }
    stage.names.extend(github.names());
    stage.prepare("mkdir --mode=700 credentials && export ARCHWAY_CREDENTIALS=credentials");
    stage.prepare("(umask 077 && echo ghp_sesame >credentials/github)");
    // Other tests may fill the volume.
    stage.prepare("ARCHWAY_VOLUME_PERCENT=100 archway sync");
    stage
}

fn dev() -> Stage {
    let (folder, ports) = (folder(), Ports::free());
    repository(&folder.path().join("docs"));
    let host = GitHttp::start(&folder.path().join("host"), None);
    let wiki = "https://git.example.com/acme/wiki.git".to_owned();
    let mut names = of_hosts(&ports, folder.path());
    names.push((wiki, host.add("wiki", "the word is walrus\n")));
    Stage {
        shell: shell(folder.path(), &ports, &[]),
        names,
        folder,
        _cluster: None,
        _databases: Vec::new(),
    }
}

/// Real clients, which tests/house.sh installs.
fn clients() -> Result<Stage, Absent> {
    for program in [
        "ARCHWAY_TEST_PYTHON",
        "ARCHWAY_TEST_NODE",
        "ARCHWAY_TEST_NODE_20",
        "ARCHWAY_TEST_NODE_CLIENT",
        "ARCHWAY_TEST_INSPECTOR",
    ] {
        if std::env::var_os(program).is_none() {
            return Err(Absent("tests/run installs the clients"));
        }
    }
    let mut stage = dev();
    stage.prepare("archway dev --repo site >/dev/null");
    stage.prepare("export ARCHWAY_API_KEY=$(grep -o -m 1 'awy_[A-Za-z0-9_]*' dev-*.log)");
    // What `npm install` would have done.
    stage.prepare("ln -s \"$ARCHWAY_TEST_NODE_CLIENT/node_modules\" .");
    Ok(stage)
}

/// A repository whose commit always has the same id.
fn samples() -> Stage {
    let mut stage = dev();
    stage.write("site/src/pass.rs", include_str!("pass.rs.txt"));
    stage.prepare("export GIT_COMMITTER_DATE=2026-01-07T14:00:00Z");
    stage.prepare(
        "git -C site add . && git -C site -c user.name=a -c user.email=a@example.com \
        commit --quiet --amend --reset-author --date=$GIT_COMMITTER_DATE --message=first",
    );
    stage.prepare("archway dev --repo site >/dev/null");
    stage.prepare("export ARCHWAY_API_KEY=$(grep -o -m 1 'awy_[A-Za-z0-9_]*' dev-*.log)");
    stage
}

fn cluster() -> Result<Stage, Absent> {
    with_double(dev(), &[])
}

/// The stage's processes are those of the release's pods, as far as pages use them.
fn release() -> Result<Stage, Absent> {
    let mut stage = prepared();
    stage.prepare("archway tenant create acme && archway project add acme site");
    stage.prepare("archway key issue acme --label ci");
    stage.prepare("archway worker && archway gateway --console");
    let gateway = stage.substitute("http://gateway:9090");
    let here = gateway.trim_start_matches("http://").to_owned();
    stage.names.push(("127.0.0.1:9090".to_owned(), here));
    let database = &stage._databases[0];
    let secret = database.folder.path().join("secret");
    let expected_output = [
        ("DOCS_GATEWAY_ADMIN", gateway),
        ("DOCS_OWNER_URL", as_role(database, None)),
        ("DOCS_SECRET_FILE", secret.display().to_string()),
    ];
    let mut stage = with_double(stage, &expected_output)?;
    stage.prepare(RELEASE);
    Ok(stage)
}

/// Gives a stage a double of Kubernetes' API. `expected_output` tells it what its pods use.
fn with_double(mut stage: Stage, expected_output: &[(&str, String)]) -> Result<Stage, Absent> {
    let (Some(helm), Some(python)) = (
        std::env::var_os("ARCHWAY_TEST_HELM"),
        std::env::var_os("ARCHWAY_TEST_CHART_PYTHON"),
    ) else {
        return Err(Absent("tests/run installs Helm"));
    };
    let kubeconfig = stage.folder.path().join("kubeconfig");
    let mut double = Command::new(python);
    double.arg(root().join("cli/tests/docs/cluster.py"));
    double.arg(root()).arg(&kubeconfig);
    double.env("DOCS_ARCHWAY", env!("CARGO_BIN_EXE_archway"));
    double.envs(expected_output.iter().map(|(name, value)| (name, value)));
    let mut child = double
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "there\n");
    stage._cluster = Some(Cluster(child));
    // One package contains both.
    let helm = Path::new(&helm);
    let kubectl = helm.with_file_name("kubectl");
    stage.prepare(&format!(
        "mkdir programs && ln -s {} programs/",
        helm.display()
    ));
    stage.prepare(&format!("export DOCS_KUBECTL={}", kubectl.display()));
    // A reader's own values, for pages that don't show any.
    stage.prepare("cp helm/archway/ci/minimal-values.yaml values.yaml");
    stage.prepare("export PATH=$PWD/programs:$PATH KUBECONFIG=$PWD/kubeconfig");
    Ok(stage)
}

/// Without the Secrets that its values name, no pod of it starts; its volume exists.
fn shared() -> Result<Stage, Absent> {
    let mut stage = cluster()?;
    let shared = "repositories.mode=shared,repositories.claim.create=true";
    stage.prepare(&format!(
        "helm install archway helm/archway --namespace archway --create-namespace \
         --values values.yaml --set {shared}"
    ));
    Ok(stage)
}

fn compose() -> Result<Stage, Absent> {
    if std::env::var_os("ARCHWAY_TEST_COMPOSE").is_none() {
        return Err(Absent("tests/run installs Docker Compose"));
    }
    let mut stage = installation();
    stage.prepare("export REPO=$PWD/site && mkdir repos/team && cp -R site repos/team/repo");
    stage.prepare("archway tenant create team && archway project add team repo");
    Ok(stage)
}

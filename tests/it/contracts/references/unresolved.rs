//! `find_references` in languages whose imports are not resolved: no use in another file is certain.

use e2e::Repo;
use serde_json::{Value, json};

use super::references;
use crate::serve;

/// Each language with a class, its method, and a file that uses both.
fn repo() -> Repo {
    Repo::new()
        .file("net/Gate.cs", "namespace Net;\npublic class Gate {\n  public void Admit() { this.Admit(); }\n}\n")
        .file("app/App.cs", "using Net;\nclass App {\n  void Run(Gate gate) { gate.Admit(); new Gate().Admit(); }\n}\n")
        .file("net/Gate.php", "<?php\nnamespace Net;\nclass Gate {\n  function admit() { $this->admit(); }\n}\n")
        .file("app/App.php", "<?php\nuse Net\\Gate;\nfunction run(Gate $gate) { $gate->admit(); $new = new Gate(); }\n")
        .file("net/gate.rb", "class Gate\n  def admit\n    self.admit\n  end\nend\n")
        .file("app/app.rb", "require_relative '../net/gate'\ngate = Gate.new\ngate.admit\n")
        .commit()
}

#[tokio::test]
async fn without_resolved_imports_only_the_own_file_is_certain() {
    let (_stack, client) = serve(repo()).await;
    for (file, class, method) in [
        ("net/Gate.cs", 2, 3),
        ("net/Gate.php", 3, 4),
        ("net/gate.rb", 1, 2),
    ] {
        for line in [class, method] {
            let symbol = format!("{file}:{line}");
            let found = references(&client, json!({ "symbol": symbol })).await;
            let uses = found["references"].as_array().unwrap();
            let (own, others): (Vec<&Value>, Vec<&Value>) =
                uses.iter().partition(|it| it["path"] == file);
            let is_certain = |it: &&Value| it["confidence"] == "certain";
            assert!(!others.is_empty(), "{symbol}: {found}");
            assert!(!others.iter().any(is_certain), "{symbol}: {found}");
            let has_certain = own.iter().any(is_certain);
            assert_eq!(has_certain, line == method, "{symbol}: {found}");
        }
    }
}

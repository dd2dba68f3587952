//! `find_references`: which of several definitions of a name is meant.

use e2e::Repo;
use serde_json::json;

use super::{places, references};
use crate::serve;

#[tokio::test]
async fn a_member_of_self_is_no_free_function_of_the_name() {
    let rust = "fn admit() {}\npub struct Gate;\nimpl Gate {\n    fn admit(&self) {}\n    fn f(&self) {\n        self.admit();\n        admit();\n        self::admit();\n    }\n}\n";
    let script = "function admit() {}\nclass Gate {\n  #admit() {}\n  f() {\n    this.admit();\n    this.#admit();\n    admit();\n  }\n}\n";
    let repo = Repo::new().file("a.rs", rust).file("b.js", script);
    let (_stack, client) = serve(repo.commit()).await;
    for (symbol, expected) in [
        (
            "a.rs:1",
            vec!["a.rs:7:9 call certain", "a.rs:8:15 call certain"],
        ),
        ("a.rs:4", vec!["a.rs:6:14 call certain"]),
        ("b.js:1", vec!["b.js:7:5 call certain"]),
        ("Gate.#admit", vec!["b.js:6:10 call certain"]),
        ("b.js:3:3", vec!["b.js:6:10 call certain"]),
        ("b.js:3:5", vec!["b.js:6:10 call certain"]),
    ] {
        let asked = json!({ "symbol": symbol, "confidence": "certain" });
        assert_eq!(
            places(&references(&client, asked).await),
            expected,
            "{symbol}"
        );
    }
}

#[tokio::test]
async fn names_in_functions_and_closures_are_told_apart_by_their_scopes() {
    let python = "def test_a():\n    class Index:\n        def get(self):\n            return self.get()\n\n    Index.get()\n\n\ndef test_b():\n    class Index:\n        def get(self):\n            return self.get()\n\n    Index.get()\n";
    let script = "it('a', () => {\n  const Card = () => 1;\n  Card();\n});\nit('b', () => {\n  const Card = () => 2;\n  Card();\n});\nCard();\n";
    let gate = "def gate(): pass\ndef admit(): pass\n";
    let app = "from net.gate import gate\n\ngate.admit()\ngate()\n\ndef f():\n    def gate(): pass\n    gate()\n";
    let repo = Repo::new()
        .file("a.py", python)
        .file("b.ts", script)
        .file("net/__init__.py", "")
        .file("net/gate.py", gate)
        .file("app.py", app);
    let (_stack, client) = serve(repo.commit()).await;
    for (symbol, expected) in [
        ("a.py:2", vec!["a.py:6:5 other certain"]),
        (
            "a.py:3",
            vec!["a.py:4:25 call certain", "a.py:6:11 call certain"],
        ),
        (
            "a.py:11",
            vec!["a.py:12:25 call certain", "a.py:14:11 call certain"],
        ),
        ("b.ts:2", vec!["b.ts:3:3 call certain"]),
        ("b.ts:6", vec!["b.ts:7:3 call certain"]),
        (
            "net/gate.py:1",
            vec![
                "app.py:1:22 import certain",
                "app.py:3:1 other certain",
                "app.py:4:1 call certain",
            ],
        ),
        ("net/gate.py:2", vec![]),
    ] {
        let asked = json!({ "symbol": symbol, "confidence": "certain" });
        assert_eq!(
            places(&references(&client, asked).await),
            expected,
            "{symbol}"
        );
    }
}

#[tokio::test]
async fn an_import_of_a_name_is_of_no_member_of_a_type() {
    let repo = Repo::new()
        .file(
            "web/css.ts",
            "export interface Context {\n  Style: string;\n}\nexport const Style = () => 1;\n",
        )
        .file("web/app.ts", "import { Style } from './css';\nStyle();\n")
        .file("web/kit.js", "module.exports = {\n  admit() {},\n};\n")
        .file(
            "web/use.js",
            "const { admit } = require('./kit');\nadmit();\n",
        )
        .file("web/dom.tsx", "import { Style as Other } from './css';\nexport type Style = string;\nexport const x: Style = 1;\nexport const y = <Other/>;\n")
        .file(
            "gate.py",
            "class Gate:\n    def run(self): pass\n\ndef run(): pass\n",
        )
        .file("app.py", "from gate import run\nrun()\n");
    let (_stack, client) = serve(repo.commit()).await;
    for (symbol, sure) in [
        ("web/css.ts:2", 0),
        ("web/css.ts:4", 3),
        ("web/dom.tsx:2", 1),
        ("web/kit.js:2", 1),
        ("gate.py:2", 0),
        ("gate.py:4", 2),
    ] {
        let asked = json!({ "symbol": symbol, "confidence": "certain" });
        let found = places(&references(&client, asked).await);
        assert_eq!(found.len(), sure, "{symbol}: {found:?}");
    }
}

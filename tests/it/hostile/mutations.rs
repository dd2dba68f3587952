//! The cases: honest messages with a defect, and input that is no message.

use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::{Index, select},
};
use serde_json::{Map, Value, json};

use super::cases::{Case, honest, message};

/// Any JSON, four levels deep at most.
pub(super) fn json_value() -> impl Strategy<Value = Value> {
    let numbers = select(vec![
        json!(0),
        json!(-1),
        json!(1.5),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(1e300),
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        numbers,
        ".{0,12}".prop_map(Value::from),
        "[a-z./*\\[(]{300}".prop_map(Value::from),
        select(vec![
            "hello",
            "2026-07-28",
            "tools/call",
            "../..",
            "\0",
            "\u{202e}"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((".{0,6}", inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Bytes that are no message.
pub(super) fn garbage() -> BoxedStrategy<Case> {
    let bodies = prop_oneof![
        vec(any::<u8>(), 0..300),
        json_value().prop_map(|value| value.to_string().into_bytes()),
        "[\\[\\]{}\",:0-9a-z\\\\ ]{0,60}".prop_map(String::into_bytes),
    ];
    (honest(), bodies)
        .prop_map(|(case, body)| Case { body, ..case })
        .boxed()
}

#[derive(Clone, Debug)]
enum Mutation {
    Truncate(Index),
    Flip(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, Index),
    Repeat(Index, Index),
}

impl Mutation {
    fn apply(&self, body: &mut Vec<u8>) {
        let end = body.len();
        let range = |a: &Index, b: &Index| {
            let (a, b) = (a.index(end + 1), b.index(end + 1));
            a.min(b)..a.max(b)
        };
        match self {
            Mutation::Truncate(at) => body.truncate(at.index(end + 1)),
            Mutation::Flip(at, bits) => {
                if end > 0 {
                    body[at.index(end)] ^= bits;
                }
            }
            Mutation::Insert(at, bytes) => {
                let at = at.index(end + 1);
                body.splice(at..at, bytes.iter().copied());
            }
            Mutation::Remove(a, b) => {
                body.drain(range(a, b));
            }
            Mutation::Repeat(a, b) => {
                let range = range(a, b);
                let piece = body[range.clone()].to_vec();
                body.splice(range.end..range.end, piece);
            }
        }
    }
}

/// Honest messages with bytes removed, flipped, added or repeated.
pub(super) fn mutated() -> BoxedStrategy<Case> {
    let index = any::<Index>;
    let mutation = prop_oneof![
        index().prop_map(Mutation::Truncate),
        (index(), 1..=u8::MAX).prop_map(|(at, bits)| Mutation::Flip(at, bits)),
        (index(), vec(any::<u8>(), 1..6)).prop_map(|(at, bytes)| Mutation::Insert(at, bytes)),
        (index(), index()).prop_map(|(a, b)| Mutation::Remove(a, b)),
        (index(), index()).prop_map(|(a, b)| Mutation::Repeat(a, b)),
    ];
    (honest(), vec(mutation, 1..4))
        .prop_map(|(mut case, mutations)| {
            for mutation in &mutations {
                mutation.apply(&mut case.body);
            }
            case
        })
        .boxed()
}

/// Honest messages in which one member, known or not, has another value.
pub(super) fn members() -> BoxedStrategy<Case> {
    let places = select(vec![
        "/jsonrpc",
        "/id",
        "/method",
        "/params",
        "/params/name",
        "/params/arguments",
        "/params/arguments/pattern",
        "/params/arguments/path",
        "/params/arguments/max_results",
        "/params/arguments/other",
        "/params/cursor",
        "/params/protocolVersion",
        "/params/capabilities",
        "/params/clientInfo",
        "/params/level",
        "/params/_meta",
        "/params/_meta/progressToken",
        "/params/_meta/io.modelcontextprotocol~1protocolVersion",
        "/params/_meta/io.modelcontextprotocol~1clientCapabilities",
        "/params/_meta/io.modelcontextprotocol~1clientInfo",
        "/params/_meta/io.modelcontextprotocol~1logLevel",
        "/params/_meta/io.archway~1session",
        "/result",
        "/error",
        "/other",
    ]);
    (any::<bool>(), 0..10_usize, places, json_value())
        .prop_map(|(modern, kind, place, value)| {
            let honest = message(modern, kind);
            let mut bent = honest.clone();
            let (parent, member) = place.rsplit_once('/').expect("a pointer");
            if let Some(Value::Object(parent)) = bent.pointer_mut(parent) {
                parent.insert(member.replace("~1", "/"), value);
            }
            Case {
                body: bent.to_string().into_bytes(),
                ..Case::of(modern, &honest)
            }
        })
        .boxed()
}

/// Bodies that are deep, long, or several in one.
pub(super) fn nested() -> BoxedStrategy<Case> {
    let brackets = select(vec![("[", "]"), ("{\"a\":", "}"), ("[{\"\":", "}]")]);
    let deep = (brackets, 1..400_usize).prop_map(|((open, close), depth)| {
        format!("{}1{}", open.repeat(depth), close.repeat(depth))
    });
    let wrapped = (deep.clone(), any::<bool>()).prop_map(|(deep, whole)| {
        let inner = format!(r#"{{"name":"hello","arguments":{deep}}}"#);
        let params = if whole { deep } else { inner };
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#)
    });
    let bodies = prop_oneof![deep, wrapped].prop_map(String::into_bytes);
    let repeated = (honest(), 2..4_usize, select(vec!["", "\n", ",", " "]));
    prop_oneof![
        (honest(), bodies).prop_map(|(case, body)| Case { body, ..case }),
        repeated.prop_map(|(mut case, times, between)| {
            let one = String::from_utf8(case.body).expect("JSON is text");
            case.body = vec![one; times].join(between).into_bytes();
            case
        }),
    ]
    .boxed()
}

/// Honest messages whose headers are arbitrary, missing or repeated.
pub(super) fn headers() -> BoxedStrategy<Case> {
    let names = select(vec![
        "MCP-Protocol-Version",
        "Mcp-Method",
        "Mcp-Name",
        "Mcp-Session-Id",
        "Archway-Session",
        "Last-Event-ID",
        "traceparent",
        "tracestate",
        "baggage",
        "Accept",
        "Content-Type",
        "Content-Encoding",
        "X-Forwarded-For",
    ]);
    let known = select(vec![
        "2026-07-28",
        "2025-06-18",
        "2024-11-05",
        "tools/call",
        "hello",
        "=?base64?aGVsbG8=?=",
        "=?base64?%%?=",
        "application/json",
        "text/event-stream",
        "identity",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "",
    ]);
    let values = prop_oneof![
        known.prop_map(str::to_owned),
        "[ -~]{0,60}",
        ".{0,20}",
        "[a-z,;=]{2000}",
    ];
    let extra = vec((names, option::of(values)), 1..4);
    (honest(), extra)
        .prop_map(|(case, extra)| {
            // A name without a value removes the usual header.
            let headers = extra
                .into_iter()
                .map(|(name, value)| (name, value.unwrap_or_else(|| "\0".to_owned())))
                .collect();
            Case { headers, ..case }
        })
        .boxed()
}

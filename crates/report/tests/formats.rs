//! What other programs read: each format of a classic bug, and strings that try to break out of it.

use reweave_model::{Kind, Object, ObjectId, Op, Policy, Site};
use reweave_report::{Finding, ResultDocument, Shown, Trace, chrome, dot, github, sarif};
use reweave_testing::script::{Script, Thread, run, trace};
use serde_json::Value;
use std::path::Path;

const A: ObjectId = ObjectId(0);
const B: ObjectId = ObjectId(1);

/// Two threads that take two locks in opposite orders, after one has read what the other wrote.
fn inversion() -> Trace {
    let flag = ObjectId(2);
    let script = Script {
        objects: vec![Object::mutex(), Object::mutex(), Object::Atomic(0)],
        threads: vec![
            Thread(
                None,
                vec![(Op::Store(flag, 1), 5), (Op::Lock(A), 6), (Op::Lock(B), 7)],
            ),
            Thread(
                Some("other"),
                vec![(Op::Load(flag), 11), (Op::Lock(B), 12), (Op::Lock(A), 13)],
            ),
        ],
    };
    let mut trace = trace(
        "inversion",
        &run(&script, &[0, 1, 1, 0], Policy::First, 1000),
    );
    trace.errors[0].places = [7, 13]
        .map(|line| reweave_testing::script::position(Site(line)).unwrap())
        .into();
    trace
}

fn told(trace: &Trace) -> Vec<Shown> {
    Shown::of_trace(trace, Path::new("reweave-out/inversion-1.rwt"))
}

#[test]
fn a_graph_for_graphviz() {
    insta::assert_snapshot!(dot(&inversion()));
}

#[test]
fn annotations_for_github() {
    insta::assert_snapshot!(github(&told(&inversion())));
}

#[test]
fn a_log_for_code_scanning() {
    let log = sarif(&told(&inversion()));
    sound(&serde_json::from_str(&log).unwrap());
    insta::assert_snapshot!(log);
}

/// A track for each thread, a slice for each step, both ends of each arrow.
#[test]
fn a_timeline_for_perfetto() {
    let trace = inversion();
    let document: Value = serde_json::from_str(&chrome(&trace)).unwrap();
    let events = document["traceEvents"].as_array().unwrap();
    let phase = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
    assert_eq!(phase("X"), trace.events.len() + 2, "two are pending");
    assert_eq!(phase("M"), 1 + 2 * trace.threads.len());
    assert_eq!(
        (phase("s"), phase("f")),
        (1, 1),
        "the load reads from the store"
    );
    assert_eq!(phase("i"), 1);
    let lock = events.iter().find(|event| event["name"] == "lock mutex#2");
    let lock = lock.expect("the second thread took it");
    assert_eq!((&lock["tid"], &lock["ts"]), (&1.into(), &2000.into()));
}

/// That an object has the required members, and no others than allowed.
fn only(value: &Value, required: &[&str], allowed: &[&str]) {
    let members = value
        .as_object()
        .unwrap_or_else(|| panic!("no object: {value}"));
    for name in required {
        assert!(members.contains_key(*name), "{name} is missing: {value}");
    }
    for name in members.keys() {
        let name = name.as_str();
        assert!(
            required.contains(&name) || allowed.contains(&name),
            "{name}?"
        );
    }
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().expect("a list").clone()
}

/// What the published schema requires of the members that we write, and that we write no others.
fn sound(log: &Value) {
    only(log, &["$schema", "version", "runs"], &[]);
    assert_eq!(log["version"], "2.1.0");
    for run in list(&log["runs"]) {
        only(&run, &["tool", "results", "columnKind"], &[]);
        let driver = &run["tool"]["driver"];
        only(driver, &["name", "version", "rules"], &[]);
        let rules = list(&driver["rules"]);
        for rule in &rules {
            only(rule, &["id", "shortDescription"], &[]);
        }
        for result in list(&run["results"]) {
            sound_result(&result, &rules);
        }
    }
}

fn sound_result(result: &Value, rules: &[Value]) {
    let required = ["ruleId", "ruleIndex", "level", "message", "locations"];
    only(result, &required, &["relatedLocations", "codeFlows"]);
    let index = result["ruleIndex"].as_u64().unwrap() as usize;
    assert_eq!(rules[index]["id"], result["ruleId"]);
    assert!(["error", "warning"].contains(&result["level"].as_str().unwrap()));
    only(&result["message"], &["text"], &[]);
    assert!(result["message"]["text"].is_string());
    list(&result["locations"]).iter().for_each(sound_location);
    let related = result.get("relatedLocations").map(list);
    related.unwrap_or_default().iter().for_each(sound_location);
    for flow in result.get("codeFlows").map(list).unwrap_or_default() {
        only(&flow, &["threadFlows", "message"], &[]);
        let threads = list(&flow["threadFlows"]);
        assert!(!threads.is_empty());
        for thread in threads {
            only(&thread, &["id", "locations", "message"], &[]);
            let stops = list(&thread["locations"]);
            assert!(!stops.is_empty());
            for stop in stops {
                only(&stop, &["location", "executionOrder", "importance"], &[]);
                sound_location(&stop["location"]);
                assert!(stop["executionOrder"].as_u64().is_some());
            }
        }
    }
}

fn sound_location(value: &Value) {
    only(value, &["physicalLocation"], &["message", "id"]);
    let place = &value["physicalLocation"];
    only(place, &["artifactLocation", "region"], &[]);
    only(&place["artifactLocation"], &["uri"], &[]);
    let uri = place["artifactLocation"]["uri"].as_str().unwrap();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/.-_~+%:".contains(c);
    assert!(uri.chars().all(plain), "{uri}");
    only(&place["region"], &["startLine"], &["startColumn"]);
    for number in place["region"].as_object().unwrap().values() {
        assert!(number.as_u64().unwrap() >= 1);
    }
}

/// Names, places and messages of a program that wants to say something else than we do.
#[test]
fn hostile_strings_stay_strings() {
    let mut trace = inversion();
    trace.program.name = "a\"];\nevil [label=\"b".into();
    trace.threads[1].name = Some("x\\".into());
    trace.objects[0].name = "m\"\n::error::gone".into();
    trace.errors[0].kind = Kind::Assertion;
    trace.errors[0].message = "100%\n::set-env name=PATH::/tmp\r\n\x1b[2J [a](http://b)".into();
    for place in &mut trace.errors[0].places {
        place.file = "a b,c:d%/\u{e4}\x1b.c".into();
    }
    let annotations = github(&told(&trace));
    assert_eq!(annotations.lines().count(), 1, "{annotations}");
    assert!(annotations.starts_with("::error file=a b%2Cc%3Ad%25/\u{e4}.c,line=7,col=9,"));
    assert!(!annotations.chars().any(|c| c.is_control() && c != '\n'));
    let log: Value = serde_json::from_str(&sarif(&told(&trace))).unwrap();
    sound(&log);
    let result = &log["runs"][0]["results"][0];
    let uri = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(uri, "a%20b%2Cc%3Ad%25/%C3%A4%1B.c");
    let text = result["message"]["text"].as_str().unwrap();
    assert!(!text.contains("]("), "no link: {text}");
    assert!(!text.contains('\x1b'));
    let graph = dot(&trace);
    assert!(!graph.contains('\x1b'));
    for line in graph.lines() {
        // What is between quotes has no quote in it that is not escaped.
        let bare = line.replace("\\\\", "").replace("\\\"", "");
        assert_eq!(bare.matches('"').count() % 2, 0, "{line}");
    }
    assert!(
        !graph
            .lines()
            .any(|line| line.trim_start().starts_with("evil"))
    );
    serde_json::from_str::<Value>(&chrome(&trace)).unwrap();
}

/// A result has its traces beside it, or has lost them.
#[test]
fn a_result_tells_what_its_traces_know() {
    let directory = tempfile::tempdir().unwrap();
    let finding = |trace: Option<String>| Finding {
        kind: Kind::Deadlock,
        rule: None,
        message: "no thread can go on".into(),
        location: Some("src/demo.rs:7:9".into()),
        events: 4,
        trace,
        seen: 1,
        doubtful: false,
        because: None,
    };
    inversion()
        .write(&directory.path().join("inversion-1.rwt"))
        .unwrap();
    let mut result = ResultDocument::new("inversion", "optimal", "mazurkiewicz");
    result.errors.push(finding(Some("inversion-1.rwt".into())));
    result.errors.push(finding(Some("gone.rwt".into())));
    result.warnings.push(Finding {
        kind: Kind::Misuse,
        rule: Some("unjoined".into()),
        ..finding(None)
    });
    let told = Shown::of_result(&result, &directory.path().join("result.json"));
    let log: Value = serde_json::from_str(&sarif(&told)).unwrap();
    sound(&log);
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    let flows = results
        .iter()
        .filter(|result| result.get("codeFlows").is_some());
    assert_eq!(flows.count(), 1);
    assert_eq!(results[0]["relatedLocations"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&results[2]["level"], &results[2]["ruleId"]),
        (&"warning".into(), &"misuse/unjoined".into())
    );
    let annotations = github(&told);
    assert_eq!(annotations.lines().count(), 3);
    assert!(
        annotations.contains("::warning file=src/demo.rs,line=7,col=9,title=misuse/unjoined::")
    );
}

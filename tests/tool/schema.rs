//! A document against a schema of ours.

use super::done;
use serde_json::Value;

/// The part of JSON Schema that our schemas use. What is wrong, with its place.
#[expect(clippy::too_many_lines, reason = "one keyword of the schema after the other")]
fn check(value: &Value, schema: &Value, root: &Value, place: &str, wrong: &mut Vec<String>) {
    if let Some(name) = schema["$ref"].as_str() {
        let (file, target) = name.split_once('#').expect("a reference has a place");
        let other = file.strip_suffix(".json").map(self::schema);
        let root = other.as_ref().unwrap_or(root);
        let target = root.pointer(target).unwrap_or_else(|| panic!("there is no {name}"));
        return check(value, target, root, place, wrong);
    }
    for choices in ["anyOf", "oneOf"].into_iter().filter_map(|key| schema[key].as_array()) {
        let fits = |choice: &Value| {
            let mut found = Vec::new();
            check(value, choice, root, place, &mut found);
            found.is_empty()
        };
        if !choices.iter().any(fits) {
            wrong.push(format!("{place}: {value} is none of the choices"));
        }
    }
    if schema.get("const").is_some_and(|only| only != value) {
        wrong.push(format!("{place}: {value} is not {}", schema["const"]));
    }
    if schema["enum"].as_array().is_some_and(|known| !known.contains(value)) {
        wrong.push(format!("{place}: {value} is not one of {}", schema["enum"]));
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let is = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the schema has the type {other}"),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is(kind)) {
        wrong.push(format!("{place}: {value} is no {kinds:?}"));
        return;
    }
    if let Some(object) = value.as_object() {
        for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(key) {
                wrong.push(format!("{place}: `{key}` is missing"));
            }
        }
        for (key, inner) in object {
            let inside = format!("{place}.{key}");
            match (schema["properties"].get(key), schema.get("additionalProperties")) {
                (Some(known), _) => check(inner, known, root, &inside, wrong),
                (None, Some(Value::Bool(false))) => wrong.push(format!("{inside} is not known")),
                (None, Some(any)) if any.is_object() => check(inner, any, root, &inside, wrong),
                (None, _) => {}
            }
        }
    }
    for (n, inner) in value.as_array().into_iter().flatten().enumerate() {
        if schema["items"].is_object() {
            check(inner, &schema["items"], root, &format!("{place}[{n}]"), wrong);
        }
    }
}

fn schema(name: &str) -> Value {
    done(&["schema", name]).json()
}

pub(crate) fn complaints(document: &Value, name: &str) -> Vec<String> {
    let schema = schema(name);
    let mut wrong = Vec::new();
    check(document, &schema, &schema, name, &mut wrong);
    wrong
}

pub(crate) fn holds(document: &Value, name: &str) {
    let wrong = complaints(document, name);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

//! Groups of keys that stand flat in a table: the group is a type of its own, its keys stand beside those of the table.
//!
//! ```text
//! [train]  loss = "squared"  batch = 4  optimiser = "adam"  decay = 0.9
//!               │                 │              └──────┬───────┘
//!            field of the table   Choices          Method::Adam { momentum: 0.9, decay: 0.9, epsilon: 1e-4 }
//! ```
//!
//! serde's own `flatten` forgets the place of a wrong value and the list of known keys; this keeps both.

use compiler::choice::{Case, Choice, Key, Range, owners};
use schemars::Schema;
use serde::de::value::StringDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value, json};
use std::fmt;

/// Keys that stand flat in a table.
pub trait Group {
    /// Their names.
    fn keys() -> Vec<&'static str>;

    /// Take the value of one of them.
    ///
    /// # Errors
    /// It is of another kind.
    fn take<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error>;
}

/// A deserializer of a struct whose group goes elsewhere.
pub struct Beside<'g, D, G> {
    /// Of the table.
    pub table: D,
    /// Takes the keys of the group.
    pub group: &'g mut G,
}

impl<'de, D: Deserializer<'de>, G: Group> Deserializer<'de> for Beside<'_, D, G> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.table.deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.table.deserialize_struct(name, fields, Split { inner: visitor, fields, group: self.group })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq tuple
        tuple_struct map enum identifier ignored_any
    }
}

/// The entries of a table, without those of the group.
struct Split<'g, T, G> {
    inner: T,
    fields: &'static [&'static str],
    group: &'g mut G,
}

impl<'de, V: Visitor<'de>, G: Group> Visitor<'de> for Split<'_, V, G> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(Split { inner: map, fields: self.fields, group: self.group })
    }
}

impl<'de, A: MapAccess<'de>, G: Group> MapAccess<'de> for Split<'_, A, G> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        let (own, group) = (self.fields, G::keys());
        while let Some(key) = self.inner.next_key_seed(Known { own, group: &group })? {
            if own.contains(&key.as_str()) {
                let key: StringDeserializer<A::Error> = key.into_deserializer();
                return seed.deserialize(key).map(Some);
            }
            self.group.take(&key, &mut self.inner)?;
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.next_value_seed(seed)
    }
}

/// A key of the table or the group; others are refused where they stand.
struct Known<'k> {
    own: &'static [&'static str],
    group: &'k [&'static str],
}

impl<'de> DeserializeSeed<'de> for Known<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Known<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<String, E> {
        let known = || self.own.iter().chain(self.group);
        if known().any(|known| *known == key) {
            return Ok(key.to_owned());
        }
        let known = known().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
        Err(E::custom(format!("unknown field `{key}`, expected one of {known}")))
    }
}

/// A key that cannot be meant, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The key.
    pub key: &'static str,
    /// Whether the key has no place there; otherwise its value is wrong.
    pub idle: bool,
    /// Why.
    pub message: String,
}

/// The settings of choices as they are written, in any order.
#[derive(Debug, Default)]
pub struct Said {
    /// Names of cases, by the key of the choice.
    pub names: Vec<(&'static str, String)>,
    /// Settings of cases.
    pub values: Vec<(&'static str, f64)>,
}

impl Said {
    fn value(&self, key: &str) -> Option<f64> {
        self.values.iter().find(|(known, _)| *known == key).map(|&(_, value)| value)
    }

    /// The case that is written, with its settings.
    ///
    /// # Errors
    /// There is no such case; it does not have one of the settings; a value is out of range.
    pub fn choose<C: Choice>(&self) -> Result<C, Wrong> {
        let wrong = |key, idle, message: String| Wrong { key, idle, message };
        let said = self.names.iter().find(|(tag, _)| Some(*tag) == C::TAG).map(|(tag, name)| (*tag, name.as_str()));
        let case = match (said, C::TAG) {
            (Some((tag, name)), _) => C::CASES.iter().find(|case| case.name == name).ok_or_else(|| {
                let known = C::CASES.iter().map(|case| format!("`{}`", case.name)).collect::<Vec<_>>().join(", ");
                wrong(tag, false, format!("unknown {tag} `{name}`; there are {known}"))
            })?,
            (None, Some(_)) => &C::CASES[0],
            (None, None) => {
                let made = C::CASES.iter().find(|case| case.keys.iter().any(|key| self.value(key.name).is_some()));
                made.unwrap_or(&C::CASES[0])
            }
        };
        for (other, key) in C::CASES.iter().flat_map(|case| case.keys.iter().map(move |key| (case, key))) {
            let Some(value) = self.value(key.name) else { continue };
            if !case.keys.iter().any(|own| own.name == key.name) {
                return Err(wrong(key.name, true, no_effect::<C>(case.name, key, other.keys)));
            }
            if !key.range.holds(value) {
                return Err(wrong(key.name, false, format!("`{}` must be {}", key.name, key.range.text())));
            }
        }
        Ok(C::of(case.name, &|key| {
            self.value(key.name).or(key.default).expect("a case without a default is made by its key")
        }))
    }
}

/// Why a setting has no effect, and which cases have it.
fn no_effect<C: Choice>(case: &str, key: &Key, beside: &[Key]) -> String {
    let name = key.name;
    let Some(tag) = C::TAG else {
        let other = C::CASES.iter().find(|known| known.name == case).map_or(beside, |known| known.keys);
        return format!("`{name}` beside `{}`: one of the two", other[0].name);
    };
    let owners = owners(C::CASES, name);
    let owners = owners.iter().map(|(case, _)| format!("`{}`", case.name)).collect::<Vec<_>>();
    format!("`{name}` has no effect: {tag} is `{case}`, and `{name}` is a setting of {}", owners.join(", "))
}

/// The keys of a choice: that with the name of the case, and its settings.
pub fn keys_of<C: Choice>() -> Vec<&'static str> {
    let mut keys: Vec<&str> = C::TAG.into_iter().collect();
    for key in C::CASES.iter().flat_map(|case| case.keys) {
        if !keys.contains(&key.name) {
            keys.push(key.name);
        }
    }
    keys
}

/// Write a choice into a table.
pub fn write<C: Choice>(choice: &C, table: &mut Map<String, Value>) {
    let (case, values) = choice.written();
    table.extend(C::TAG.map(|tag| (tag.to_owned(), case.into())));
    let number = |key: &str, value: f64| number(owners(C::CASES, key)[0].1, value);
    table.extend(values.into_iter().map(|(key, value)| (key.to_owned(), number(key, value))));
}

fn number(key: &Key, value: f64) -> Value {
    if matches!(key.range, Range::Count | Range::Whole) { json!(value as u64) } else { json!(value) }
}

/// The first case with the most settings: an example.
fn example<C: Choice>() -> &'static Case {
    C::CASES.iter().rev().max_by_key(|case| case.keys.len()).expect("a choice has cases")
}

/// Describe a choice in the schema of its table.
pub fn describe<C: Choice>(schema: &mut Schema) {
    let mut entry = |part: &str, key: &str, value: Value| {
        let all = schema.ensure_object().entry(part).or_insert_with(|| json!({}));
        all.as_object_mut().expect("a schema has objects there").insert(key.to_owned(), value);
    };
    if let Some(tag) = C::TAG {
        let cases: Vec<Value> = C::CASES
            .iter()
            .map(|case| json!({ "const": case.name, "description": case.text, "type": "string" }))
            .collect();
        let (text, default, example) = (C::TEXT, C::CASES[0].name, example::<C>().name);
        entry(
            "properties",
            tag,
            json!({ "description": text, "oneOf": cases, "default": default, "examples": [example] }),
        );
    }
    for name in keys_of::<C>().into_iter().filter(|key| Some(*key) != C::TAG) {
        let owners = owners(C::CASES, name);
        let key = owners[0].1;
        let mut property = match key.range {
            Range::Fraction => json!({ "type": "number", "minimum": 0, "exclusiveMaximum": 1 }),
            Range::Positive => json!({ "type": "number", "exclusiveMinimum": 0 }),
            Range::Count => json!({ "type": "integer", "minimum": 1 }),
            Range::Whole => json!({ "type": "integer", "minimum": 0 }),
        };
        property["description"] = described::<C>(name).into();
        let of_example = example::<C>().keys.iter().find(|own| own.name == name).unwrap_or(key);
        property["examples"] = json!([of_example.default.map_or(json!(1), |value| number(of_example, value))]);
        entry("properties", name, property);
        let Some(tag) = C::TAG else { continue };
        let names: Vec<&str> = owners.iter().map(|(case, _)| case.name).collect();
        let mut beside = json!({ "properties": { tag: { "enum": names } } });
        // The default case may be left out.
        if !names.contains(&C::CASES[0].name) {
            beside["required"] = json!([tag]);
        }
        entry("dependentSchemas", name, beside);
    }
    if C::TAG.is_none() {
        // The key of a case makes it, so only one of them can be there.
        let keys = keys_of::<C>();
        entry(
            "dependentSchemas",
            keys[0],
            json!({ "not": { "anyOf": keys[1..].iter().map(|key| json!({ "required": [key] })).collect::<Vec<_>>() } }),
        );
    }
}

/// A setting in words, with the cases that have it and its defaults.
fn described<C: Choice>(name: &str) -> String {
    let owners = owners(C::CASES, name);
    let text = owners[0].1.text.trim_end_matches('.');
    let one = owners.iter().all(|(_, key)| key.default == owners[0].1.default);
    let own = |(n, (case, key)): (usize, &(&Case, &Key))| match key.default {
        Some(default) if !one || n + 1 == owners.len() => format!("`{}` (default {default})", case.name),
        _ => format!("`{}`", case.name),
    };
    match C::TAG {
        Some(_) => format!("{text}: {}.", owners.iter().enumerate().map(own).collect::<Vec<_>>().join(", ")),
        None => format!("{text}."),
    }
}

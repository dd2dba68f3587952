//! JSON Schema (2020-12) of a tool's arguments and output, generated from its types.
//!
//! Schemas are trimmed to what a model needs: no titles, no Rust number formats, and references
//! only from a type to itself. Strict clients reject `true` as a schema, so it is written `{}`. An
//! optional argument omits `null`, because the gateway drops nulls before it validates.

use schemars::{
    JsonSchema, Schema,
    generate::SchemaSettings,
    transform::{RecursiveTransform, Transform},
};
use serde_json::{Map, Value, json};

pub(super) fn of_arguments<T: JsonSchema>() -> Value {
    let mut schema = generated::<T>(SchemaSettings::draft2020_12()).to_value();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut() {
            drop_null(property);
        }
    }
    if let Value::Object(schema) = &mut schema {
        // States explicitly that a tool without arguments accepts none.
        schema
            .entry("properties")
            .or_insert_with(|| Value::Object(Map::new()));
        schema
            .entry("additionalProperties")
            .or_insert(Value::Bool(false));
    }
    schema
}

pub(super) fn of_output<T: JsonSchema>() -> Value {
    let mut schema = generated::<T>(SchemaSettings::draft2020_12().for_serialize());
    RecursiveTransform(drop_bounds).transform(&mut schema);
    RecursiveTransform(drop_description_of_items).transform(&mut schema);
    RecursiveTransform(drop_null_of_absent).transform(&mut schema);
    let mut schema = schema.to_value();
    refer_to_definitions(&mut schema);
    schema
}

/// Writes a type that refers to itself once, as a definition: inlining repeats it where it is used.
fn refer_to_definitions(schema: &mut Value) {
    let Some(Value::Object(definitions)) = schema.get("$defs").cloned() else {
        return;
    };
    let properties = schema.get_mut("properties").into_iter();
    let properties = properties.filter_map(Value::as_object_mut).flatten();
    for (_, property) in properties {
        for (name, definition) in &definitions {
            refer(property, name, &definition["properties"]);
        }
    }
}

/// Replaces objects of these properties by a reference to their definition.
fn refer(schema: &mut Value, name: &str, properties: &Value) {
    if schema.get("properties") == Some(properties) {
        *schema = json!({ "$ref": format!("#/$defs/{name}") });
        return;
    }
    match schema {
        Value::Object(parts) => parts
            .values_mut()
            .for_each(|part| refer(part, name, properties)),
        Value::Array(parts) => parts
            .iter_mut()
            .for_each(|part| refer(part, name, properties)),
        _ => {}
    }
}

fn generated<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(trim).transform(&mut schema);
    schema.remove("description");
    schema
}

/// What may be absent is never null.
fn drop_null_of_absent(schema: &mut Schema) {
    let required = schema.get("required").cloned().unwrap_or_default();
    let is_required = |name: &str| {
        required
            .as_array()
            .is_some_and(|names| names.iter().any(|it| it == name))
    };
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        if !is_required(name) {
            drop_null(property);
        }
    }
}

/// No count is negative, and the largest number of its type says nothing to a reader.
fn drop_bounds(schema: &mut Schema) {
    if schema.get("minimum").is_some_and(|least| least == 0) {
        schema.remove("minimum");
        schema.remove("maximum");
    }
}

/// The field of a list says what its items are.
fn drop_description_of_items(schema: &mut Schema) {
    if let Some(Value::Object(items)) = schema.get_mut("items") {
        items.remove("description");
    }
}

/// For serde: skips a flag that is false.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
pub(super) fn is_false(flag: &bool) -> bool {
    !flag
}

/// For serde: skips a number that is zero.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
pub(super) fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn trim(schema: &mut Schema) {
    if schema.as_bool() == Some(true) {
        *schema = Schema::default();
    }
    if schema.get("additionalProperties") == Some(&Value::Bool(true)) {
        schema.remove("additionalProperties");
    }
    schema.remove("title");
    if schema.get("type").is_some_and(is_number) {
        schema.remove("format");
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
}

fn is_number(kind: &Value) -> bool {
    let number = |kind: &Value| kind == "integer" || kind == "number";
    number(kind)
        || kind
            .as_array()
            .is_some_and(|kinds| kinds.iter().any(number))
}

fn drop_null(property: &mut Value) {
    if let Some(Value::Array(kinds)) = property.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            property["type"] = only;
        }
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(choices)) = property.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            if let Value::Object(property) = property {
                property.remove("anyOf");
                for (key, value) in only {
                    property.entry(key).or_insert(value);
                }
            }
        }
    }
}

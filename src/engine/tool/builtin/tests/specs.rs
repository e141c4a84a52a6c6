//! Descriptions of tools, as models get them.

use super::*;
use crate::tool::{Category, ToolSpec};

#[tokio::test]
async fn schemas_are_flat_objects() {
    let bench = Bench::new(&[]);
    for spec in bench.tools.tools().specs() {
        assert!(!spec.description.is_empty(), "{}", spec.name);
        let schema = &spec.parameters;
        assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(false)));
        for (field, property) in schema["properties"].as_object().unwrap() {
            assert!(property["type"].is_string(), "{} {field}: {property}", spec.name);
            assert!(property["description"].is_string(), "{} {field}", spec.name);
        }
        assert!(!schema.to_string().contains("null"), "{schema}");
    }
    assert_eq!(
        bench.tool("search_text").spec().parameters["properties"]["case"]["enum"],
        json!(["sensitive", "insensitive", "smart"])
    );
}

/// Commands can leave the machine only where their words say so; those of pushing and pulling always do.
#[tokio::test]
async fn only_what_leaves_the_machine_is_said_to() {
    let bench = Bench::new(&[]);
    for (tool, asks) in [
        ("read_file", "only reads"),
        ("write_file", "asks first"),
        ("shell", "asks first"),
        ("run_tests", "asks first"),
        ("git_add", "asks first"),
        ("git_commit", "asks first"),
        ("git_push", "asks first, leaves this machine"),
        ("git_pull", "asks first, leaves this machine"),
    ] {
        assert_eq!(bench.tool(tool).spec().asks(), asks, "{tool}");
    }
    let spec = bench.tool("git_add").spec().clone();
    assert_eq!(ToolSpec { category: Category::Server, ..spec }.asks(), "asks first, leaves this machine");
}

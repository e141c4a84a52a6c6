//! Descriptions of tools, as models get them.

use super::*;

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

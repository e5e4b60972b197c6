//! The CustomResourceDefinitions of the chart.

use crate::helm::Chart;

#[test]
fn no_kind_has_two_versions_that_nothing_converts() {
    let Some(chart) = Chart::open() else { return };
    let text = chart.template("templates/crds/*.yaml", "").unwrap();
    let mut kinds = 0;
    for document in
        text.split("\n---\n").filter(|document| document.contains("kind: CustomResourceDefinition"))
    {
        let definition: serde_json::Value = serde_saphyr::from_str(document).unwrap();
        let spec = &definition["spec"];
        let versions = spec["versions"].as_array().unwrap();
        let served = versions.iter().filter(|version| version["served"] == true).count();
        assert!(
            served == 1 || spec["conversion"]["strategy"] == "Webhook",
            "{}",
            definition["metadata"]["name"]
        );
        kinds += 1;
    }
    assert!(kinds > 15, "only {kinds} definitions were found");
}

//! What follows `?` in a request.

use std::collections::BTreeMap;

/// The parameters of a request; of one that is there twice, the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(BTreeMap<String, String>);

impl Query {
    /// Reads `name=value&…`, percent-encoded.
    pub fn parse(text: &str) -> Self {
        let mut all = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            all.entry(name.into_owned()).or_insert_with(|| value.into_owned());
        }
        Self(all)
    }

    /// A parameter that is there and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Whether a parameter is there, empty or not.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

/// `?name=value&…` of parameters; nothing of none.
pub fn write(parameters: &[(&str, &str)]) -> String {
    if parameters.is_empty() {
        return String::new();
    }
    format!("?{}", form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_alike() {
        let text = write(&[("flow", "tcp,tcp_dst=80 &?"), ("pod", "a/b"), ("table-names-only", "")]);
        let query = Query::parse(text.trim_start_matches('?'));
        assert_eq!(query.get("flow"), Some("tcp,tcp_dst=80 &?"));
        assert_eq!(query.get("pod"), Some("a/b"));
        assert!(query.has("table-names-only") && query.get("table-names-only").is_none());
        assert!(!query.has("group"));
        assert_eq!(write(&[]), "");
    }
}

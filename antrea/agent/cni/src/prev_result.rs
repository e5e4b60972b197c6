//! The result of ADD as CHECK gets it back in `prevResult`, of any version.

use antrea_cni::error::CniError;
use antrea_cni::proto::ErrorCode;
use ipnet::IpNet;
use serde::Deserialize;
use serde_json::Value;

/// What CHECK compares with what is there. Other entries, and those of plugins that came later, are not looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrevResult {
    /// The interfaces of all plugins in the chain.
    pub interfaces: Vec<PrevInterface>,
    /// The addresses of all of them.
    pub ips: Vec<IpNet>,
}

/// An entry of `interfaces`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PrevInterface {
    /// Its name.
    pub name: String,
    /// Its MAC address as text.
    #[serde(default)]
    pub mac: String,
    /// The network namespace it is in; empty for the Node's.
    #[serde(default)]
    pub sandbox: String,
}

#[derive(Deserialize)]
struct Raw {
    #[serde(default)]
    interfaces: Vec<PrevInterface>,
    #[serde(default)]
    ips: Vec<RawAddress>,
}

#[derive(Deserialize)]
struct RawAddress {
    address: String,
}

impl PrevResult {
    /// Reads `prevResult`.
    ///
    /// # Errors
    /// INVALID_NETWORK_CONFIG when there is none, DECODING_FAILURE naming the entry that cannot be read.
    pub fn parse(value: Option<Value>) -> Result<Self, CniError> {
        let value = value.ok_or_else(|| {
            CniError::new(
                ErrorCode::InvalidNetworkConfig,
                "prevResult is missing: CHECK compares with the result of ADD",
            )
        })?;
        let decoding = |message| CniError::new(ErrorCode::DecodingFailure, message);
        let raw: Raw =
            serde_json::from_value(value).map_err(|error| decoding(format!("prevResult: {error}")))?;
        let address = |(index, ip): (usize, &RawAddress)| {
            ip.address.parse().map_err(|_| {
                decoding(format!(
                    "prevResult.ips[{index}].address: {:?} is not ADDRESS/PREFIX-LENGTH",
                    ip.address
                ))
            })
        };
        let ips = raw.ips.iter().enumerate().map(address).collect::<Result<_, _>>()?;
        Ok(Self { interfaces: raw.interfaces, ips })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_of_all_versions_are_read() {
        for extra in [json!({"version": "4", "interface": 1}), json!({})] {
            let mut ip = extra;
            ip["address"] = "10.0.0.2/24".into();
            let result = json!({"interfaces": [{"name": "a"}], "ips": [ip], "routes": [{"dst": "::/0"}]});
            let parsed = PrevResult::parse(Some(result)).unwrap();
            assert_eq!(parsed.ips, ["10.0.0.2/24".parse().unwrap()]);
            assert_eq!(parsed.interfaces[0].sandbox, "");
        }
    }

    #[test]
    fn a_result_that_cannot_be_read_is_refused_by_entry() {
        for (value, expected) in [
            (None, "7 prevResult is missing: CHECK compares with the result of ADD"),
            (
                Some(json!({"ips": [{"address": "10.0.0.300/24"}]})),
                "6 prevResult.ips[0].address: \"10.0.0.300/24\" is not ADDRESS/PREFIX-LENGTH",
            ),
            (Some(json!({"interfaces": [{}]})), "6 prevResult: missing field `name`"),
        ] {
            let error = PrevResult::parse(value).unwrap_err();
            assert_eq!(format!("{} {error}", error.code as i32), expected);
        }
    }
}

//! EndpointQuery: which policies concern a Pod, where 10,000 policies concern each of 10,000 Pods.

use std::hint::black_box;
use std::time::Instant;

use anyhow::Result;

use crate::watched::Watched;
use crate::workloads::Workload;
use crate::{loaded, print};

const QUERIES: u32 = 1000;

pub(crate) fn measure() -> Result<()> {
    let index = loaded(Workload::EndpointQuery, &Watched::new(0)?);
    for number in 0..QUERIES {
        let name = format!("pod-{}", number * 7);
        let started = Instant::now();
        let endpoint = black_box(index.endpoint("namespace", &name));
        print("sample", started.elapsed());
        if number == 0 {
            let count = |endpoint: antrea_index::Endpoint<'_>| {
                [endpoint.applied.len(), endpoint.source_in.len(), endpoint.destination_of.len()]
            };
            eprintln!("applied, source in, destination of: {:?}", endpoint.map(count));
        }
    }
    Ok(())
}

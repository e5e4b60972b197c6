//! EndpointQuery and EndpointAnswer: which policies concern a Pod, where 10,000 policies concern each of 10,000 Pods; found,
//! and answered by the HTTP API.

use std::hint::black_box;
use std::time::Instant;

use antrea_controller::endpoint_query;
use antrea_kit::query::Query;
use anyhow::{Result, ensure};

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

pub(crate) fn measure_answer() -> Result<()> {
    let index = loaded(Workload::EndpointAnswer, &Watched::new(0)?);
    for number in 0..QUERIES {
        let query = Query::parse(&format!("namespace=namespace&pod=pod-{}", number * 7));
        let started = Instant::now();
        let answer = black_box(endpoint_query::answer(&index, &query));
        print("sample", started.elapsed());
        ensure!(answer.status().is_success(), "the answer is {}", answer.status());
    }
    Ok(())
}

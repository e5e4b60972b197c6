//! Generates the gRPC client, server and messages from `proto/cni.proto`; needs no `protoc`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto/cni.proto");
    let descriptors = protox::compile(["proto/cni.proto"], ["proto"])?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    Ok(())
}

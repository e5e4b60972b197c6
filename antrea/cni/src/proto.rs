//! The gRPC API between plugin and agent, generated from `proto/cni.proto`.
#![allow(unused_qualifications, reason = "the generator writes out full paths")]

tonic::include_proto!("antrea_io.antrea.pkg.apis.cni.v1beta1");

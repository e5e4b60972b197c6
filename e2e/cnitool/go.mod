module antrea.io/antrea-rs/e2e/cnitool

go 1.26.0

tool github.com/containernetworking/cni/cnitool

require github.com/containernetworking/cni v1.3.0 // indirect

// Go itself, as a module: what a machine gets whose own Go is missing or too old.
module antrea.io/antrea-rs/e2e/go

go 1.19

require golang.org/toolchain v0.0.1-go1.26.8.linux-amd64

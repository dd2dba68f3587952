//! Compiles `worker.proto` with protox, so that no `protoc` has to be installed.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    let files = protox::compile(["archway/v1/worker.proto"], ["proto"])?;
    tonic_prost_build::configure()
        .bytes(".archway.v1")
        .compile_fds(files)?;
    Ok(())
}

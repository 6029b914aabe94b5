//! Link arguments of the standard face: its soname, and that it stays loaded until the process
//! ends (decision 4).

fn main() {
    let generated = std::env::var("DEP_MPI_ABI_GENERATED").expect("the build of mpi-abi names it");
    println!("cargo::rustc-env=GENERATED={generated}");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=mpi-abi/hot.ld");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rustc-cdylib-link-arg=-T{}/mpi-abi/hot.ld", env!("CARGO_MANIFEST_DIR"));
}

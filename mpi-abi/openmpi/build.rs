//! Names the library `libmpi.so.40` and keeps it loaded once it is (decision 4).

fn main() {
    let generated = std::env::var("DEP_MPI_ABI_GENERATED").expect("the build of mpi-abi names it");
    println!("cargo::rustc-env=GENERATED={generated}");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmpi.so.40");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../hot.ld");
    println!("cargo::rustc-cdylib-link-arg=-T{}/../hot.ld", env!("CARGO_MANIFEST_DIR"));
}

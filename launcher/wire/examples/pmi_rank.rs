//! A rank without MPI: says hello, exchanges cards with all other ranks, and prints what it found.
//! Run it under any PMI-1 launcher, ours or `mpiexec.hydra`, to try either end of the protocol.

use launch_wire::{Bootstrap, BootstrapError};

fn main() -> Result<(), BootstrapError> {
    let mut me = Bootstrap::from_env()?;
    let (rank, size) = (me.rank(), me.size());
    let card = format!("{rank}:").repeat(800);
    me.put(&format!("card-{rank}"), &card)?;
    me.put_bytes(&format!("raw-{rank}"), &[0, 32, 10, 255])?;
    me.fence()?;
    for other in 0..size {
        let expected = format!("{other}:").repeat(800);
        assert_eq!(me.get(&format!("card-{other}"))?, Some(expected));
        assert_eq!(me.get_bytes(&format!("raw-{other}"))?, Some(vec![0, 32, 10, 255]));
    }
    assert_eq!(me.get("nobody-put-this")?, None);
    let (app, universe) = (me.appnum()?, me.universe_size()?);
    let (local, locals) = (me.local_rank(), me.local_size());
    me.fence()?;
    println!(
        "rank {rank} of {size} appnum {app:?} universe {universe:?} local {local:?} of {locals:?} \
         job {}",
        me.job_id()
    );
    me.finalize()
}

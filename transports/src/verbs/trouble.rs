//! What a failed completion means, in a sentence with cause and cure.

use rdma_sys::ibv_wc_status as status;

/// Why work for `rank` by `device` has ended with this status.
pub(super) fn sentence(code: u32, vendor: u32, rank: u32, device: &str, patience: &str) -> String {
    let (cause, cure) = match code {
        status::IBV_WC_RETRY_EXC_ERR | status::IBV_WC_RESP_TIMEOUT_ERR => (
            format!("rank {rank} acknowledges nothing any more over {device}, after {patience}"),
            "has its process ended, or its host or a cable failed? For a slow network raise FERRITE_VERBS_TIMEOUT",
        ),
        status::IBV_WC_RNR_RETRY_EXC_ERR => (
            format!("rank {rank} has had no buffer for a message over {device} for too long"),
            "this is a fault of Ferrite MPI, please report it",
        ),
        status::IBV_WC_REM_ACCESS_ERR | status::IBV_WC_REM_INV_REQ_ERR => (
            format!(
                "rank {rank} refused access by {device} to memory that it no longer shares, or not so"
            ),
            "was memory freed that a transfer or window still used?",
        ),
        status::IBV_WC_LOC_PROT_ERR | status::IBV_WC_LOC_ACCESS_ERR => (
            format!("memory of a transfer with rank {rank} is not open to {device}"),
            "was it unmapped while the transfer used it?",
        ),
        status::IBV_WC_LOC_QP_OP_ERR => (
            format!("{device} cannot do what was asked of it for rank {rank}"),
            "is its interface up, and on one network with the peer's?",
        ),
        status::IBV_WC_LOC_LEN_ERR => (
            format!("a message of rank {rank} over {device} is longer than its buffer"),
            "do all ranks run the same version with the same settings?",
        ),
        status::IBV_WC_REM_OP_ERR | status::IBV_WC_REM_ABORT_ERR => (
            format!("the device of rank {rank} could not do what was asked over {device}"),
            "look at its host's kernel log (dmesg)",
        ),
        status::IBV_WC_WR_FLUSH_ERR => (
            format!("the connection to rank {rank} over {device} has been closed"),
            "an earlier error, here or at the peer, says why",
        ),
        _ => (
            format!("work for rank {rank} has failed in {device}"),
            "look at the kernel log (dmesg) of both hosts",
        ),
    };
    format!("{cause} (status {code}, vendor's {vendor:#x}); {cure}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_gives_rank_device_and_cure() {
        for code in 1..24 {
            let told = sentence(code, 3, 7, "mlx5_0", "8 tries of 0.25 s");
            assert!(told.contains("rank 7") && told.contains("mlx5_0"), "{told}");
            assert!(told.contains(&format!("status {code},")) && told.contains("; "), "{told}");
        }
    }
}

//! The sizes of libfabric 1.17's structures, as a C compiler says them (x86-64 and aarch64 are alike).

use super::bindings::*;

const _: () = {
    assert!(size_of::<fi_info>() == 120);
    assert!(size_of::<fi_tx_attr>() == 80);
    assert!(size_of::<fi_rx_attr>() == 64);
    assert!(size_of::<fi_ep_attr>() == 96);
    assert!(size_of::<fi_domain_attr>() == 192);
    assert!(size_of::<fi_fabric_attr>() == 32);
    assert!(size_of::<fi_ops>() == 56);
    assert!(size_of::<fid>() == 24);
    assert!(size_of::<fi_ops_fabric>() == 56);
    assert!(size_of::<fid_fabric>() == 40);
    assert!(size_of::<fi_context2>() == 64);
    assert!(size_of::<fi_cq_data_entry>() == 40);
    assert!(size_of::<fi_cq_err_entry>() == 80);
    assert!(size_of::<fi_cq_attr>() == 40);
    assert!(size_of::<fi_ops_cq>() == 64);
    assert!(size_of::<fid_cq>() == 32);
    assert!(size_of::<fi_av_attr>() == 48);
    assert!(size_of::<fi_ops_av>() == 64);
    assert!(size_of::<fid_av>() == 32);
    assert!(size_of::<fid_mr>() == 40);
    assert!(size_of::<fi_ops_domain>() == 96);
    assert!(size_of::<fi_ops_mr>() == 32);
    assert!(size_of::<fid_domain>() == 40);
    assert!(size_of::<fi_msg>() == 48);
    assert!(size_of::<fi_ops_msg>() == 80);
    assert!(size_of::<fid_ep>() == 80);
    assert!(size_of::<fi_ops_cm>() == 80);
    assert!(size_of::<fi_rma_iov>() == 24);
    assert!(size_of::<fi_msg_rma>() == 64);
    assert!(size_of::<fi_ops_rma>() == 80);
    assert!(size_of::<fi_ops_atomic>() == 112);
};

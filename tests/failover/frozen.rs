//! A master stands still until another one is in its place, and wakes up believing that it still is one.

use tests::topology::{Cluster, Sentinel, Topology};

use super::load::survives;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_of_sentinels_is_frozen() {
    let pause = |topology: &mut Sentinel, place| topology.server(place).pause();
    let resume = |topology: &mut Sentinel, place| topology.server(place).resume();
    survives("frozen, Sentinel", Sentinel::start(), pause, resume).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_of_a_cluster_is_frozen() {
    let pause = |topology: &mut Cluster, place| topology.server(place).pause();
    let resume = |topology: &mut Cluster, place| topology.server(place).resume();
    survives("frozen, Cluster", Cluster::start(), pause, resume).await;
}

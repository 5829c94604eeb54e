//! A master is killed, and comes back empty.

use tests::topology::{Cluster, Sentinel, Topology};

use super::load::survives;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_of_sentinels_is_killed() {
    let kill = |topology: &mut Sentinel, place| topology.server(place).kill();
    let restart = |topology: &mut Sentinel, place| topology.server(place).restart();
    survives("killed, Sentinel", Sentinel::start(), kill, restart).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_of_a_cluster_is_killed() {
    let kill = |topology: &mut Cluster, place| topology.server(place).kill();
    let restart = |topology: &mut Cluster, place| topology.server(place).restart();
    survives("killed, Cluster", Cluster::start(), kill, restart).await;
}

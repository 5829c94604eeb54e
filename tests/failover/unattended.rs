//! A failover by hand, on healthy servers: nothing is lost, and nobody has to wait for long.

use std::time::Duration;

use tests::timing;
use tests::topology::{Cluster, MASTER, Sentinel, Topology};

use super::load::survives;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_are_told_to_fail_over() {
    let tell = |topology: &mut Sentinel, place: usize| {
        let sentinel = topology.sentinels.first().unwrap().raw();
        sentinel.run::<()>(&["SENTINEL", "FAILOVER", MASTER]);
        timing::block_until("it is done", timing::patience(), || {
            topology.names_another(place)
        });
    };
    survives("by hand, Sentinel", Sentinel::start(), tell, |_, _| {}).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_of_a_cluster_is_told_to_take_over() {
    let tell = |topology: &mut Cluster, place: usize| {
        // a fresh link to its master delays it
        timing::block(Duration::from_millis(100));
        let replica = topology.replica_of(place).unwrap();
        let raw = topology.servers().get(replica).unwrap().raw();
        raw.run::<()>(&["CLUSTER", "FAILOVER"]);
    };
    survives("by hand, Cluster", Cluster::start(), tell, |_, _| {}).await;
}

replay data/captures/legacy --die data/captures/one_cluster.yaml --order measured --recorder off

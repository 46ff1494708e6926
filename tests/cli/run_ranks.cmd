run data/graphs/ranks.yaml

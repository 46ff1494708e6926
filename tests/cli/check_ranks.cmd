check data/graphs/ranks.yaml

run data/graphs/ranks.yaml --set P=2 --no-plot --out OUT_a
explain OUT_a

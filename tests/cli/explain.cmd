run cli/good.yaml --no-plot --out OUT_a
explain OUT_a

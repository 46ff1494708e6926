run cli/told.yaml --no-plot --out OUT_a
explain OUT_a

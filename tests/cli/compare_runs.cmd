run cli/explained.yaml --no-plot --out OUT_a
run cli/explained.yaml --set n=2 --no-plot --out OUT_b
compare OUT_a OUT_b

check --set T=2*16 cli/good.yaml

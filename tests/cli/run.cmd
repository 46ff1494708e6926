run cli/good.yaml

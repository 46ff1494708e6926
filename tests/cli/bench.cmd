bench cli/good.yaml

check cli/good.yaml

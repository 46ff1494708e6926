compare cli/good.yaml cli/good.yaml

compare cli/good.yaml cli/explained.yaml --json

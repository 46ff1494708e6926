check --die 910B4 -- cli/good.yaml

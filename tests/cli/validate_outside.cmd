validate -j1 --brief data/validation/outside.yaml

validate -j 2 data/validation/wrong.yaml data/validation/example.yaml

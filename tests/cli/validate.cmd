validate data/validation/example.yaml

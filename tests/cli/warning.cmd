check cli/warning.yaml

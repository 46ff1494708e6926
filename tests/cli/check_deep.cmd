check cli/deep.yaml --deep

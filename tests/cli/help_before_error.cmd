run --help cli/no_such_graph.yaml

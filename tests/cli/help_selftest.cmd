selftest --help

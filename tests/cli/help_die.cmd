die --help

die --list

convert cli/none

die A3

help validate

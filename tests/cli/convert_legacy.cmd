convert data/captures/legacy

convert data/captures/ranks

"""Videos: probing, reading, sampling, trimming, joining, counting shots."""

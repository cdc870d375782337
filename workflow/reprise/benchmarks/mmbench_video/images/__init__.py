"""MMBench and MMStar: multiple choice about an image, which a video model sees as a short clip (Table 4)."""

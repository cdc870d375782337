"""Construction of MMBench-Video from a list of videos and annotators' questions (section 3 and appendix C)."""

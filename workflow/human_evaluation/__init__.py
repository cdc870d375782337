"""People's answers to the benchmarks' questions: surveys go out as files, answers come back as files, in parts."""

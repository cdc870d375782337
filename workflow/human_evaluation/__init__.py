"""Human evaluation: export the benchmarks' questions as surveys and import annotators' answers from files."""

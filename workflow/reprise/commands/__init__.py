"""What a person types beside snakemake: `python -m reprise <command>`."""

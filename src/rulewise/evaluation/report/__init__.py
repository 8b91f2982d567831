"""Reports that are rebuilt from the folder of a run, and from nothing else."""

"""Rehearsal: synthetic releases in the authors' layouts and sizes. A few films serve as videos for all ids."""

"""Rehearsal: synthetic releases as large as the papers', in the authors' layouts, with a few films for all ids."""

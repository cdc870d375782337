"""A rehearsal: synthetic releases as large as the papers', in their authors' layouts, and a few films for all ids."""

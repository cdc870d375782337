"""What every other room stands on: errors, whole files, the store, schemas, keys."""

"""Used by every other room: errors, whole files, the store, schemas, keys."""

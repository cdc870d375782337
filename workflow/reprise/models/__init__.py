"""How a model is asked: adapters, the journal of answers, devices, embeddings."""

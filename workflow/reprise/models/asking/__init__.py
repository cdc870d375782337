"""How a question gets its one answer: asked, checked, journaled, counted and paid for."""

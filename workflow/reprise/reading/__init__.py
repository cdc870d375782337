"""What an answer says: the readers of answers and of ratings."""

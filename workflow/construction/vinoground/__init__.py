"""Construction of Vinoground from a language model's captions and captioned videos (section 3 and appendix E)."""

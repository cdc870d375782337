"""Construction of VELOCITI from VidSitu's semantic roles (section 3 and appendix B of the paper)."""

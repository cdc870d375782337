"""Tests of `reprise.report`."""

"""Cleaning of long documents: what looks long but is not worth reading is cut out, or dropped with a reason."""

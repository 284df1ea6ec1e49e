"""Scattered-dependency sequences: questions whose answers need facts from all over the window, each with its proof."""

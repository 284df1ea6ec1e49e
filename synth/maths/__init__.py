"""The mathematics gate of the verifier: chains of equations (M1) and final answers (M2), true, false or undecided."""

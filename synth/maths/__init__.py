"""The mathematics gate of the verifier: equality chains (M1) and final answers (M2), each judged true, false or open."""

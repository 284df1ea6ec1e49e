"""What a step does with the gradients: which optimiser has which parameter, Muon by head, clipping, schedule, guard."""

"""Pictures into features: preprocessing, MoonViT at native resolution, and the projector to the model's width."""

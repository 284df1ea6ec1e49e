"""K3 in PyTorch at any size: Kimi Delta Attention, gated MLA, attention residuals, latent experts, MoonViT."""

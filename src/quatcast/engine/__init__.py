"""Private numerics of recurrent networks: cells, exact real-time recurrent learning, low-rank weights, replay."""

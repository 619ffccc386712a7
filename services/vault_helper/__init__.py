"""The vault's two halves: the Fabric client (`client`) and the resident forced command (`shell`)."""

"""Fabric designs and how they carry messages."""

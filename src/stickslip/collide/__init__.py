"""Shapes and poses to contacts: broad phase, narrow phase, contact identities. Knows no scheme and no solver."""

from stickslip.collide.detect import contacts_for, detect, numbers_for
from stickslip.collide.scene import Contacts, Scene, scene_of
from stickslip.collide.templates import COLUMNS, Template, templates

__all__ = ["COLUMNS", "Contacts", "Scene", "Template", "contacts_for", "detect", "numbers_for", "scene_of", "templates"]

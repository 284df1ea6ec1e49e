"""The mixture of experts on a GPU: where each token goes, what is counted of it, rows by expert, and their products."""

from .counting import count
from .launch import ROWS
from .op import experts
from .ordering import Order, order
from .routing import Routing, choose, route

__all__ = ["ROWS", "Order", "Routing", "choose", "count", "experts", "order", "route"]

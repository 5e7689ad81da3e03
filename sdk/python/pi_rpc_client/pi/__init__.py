"""The dialect of pi as its published RPC reference describes it (0.52 to 0.57).

Made by generate.py from `pi-rpc schema --dialect pi`; not to be changed by hand."""

from .client import AsyncClient as AsyncClient, Client as Client, Dialog as Dialog, Event as Event
from .models import *
from .session import State as State

"""The dialect of xcsh, as its published RPC reference describes it, with everything that its two clients require.

Made by generate.py from `pi-rpc schema --dialect xcsh`; not to be changed by hand."""

from .client import AsyncClient as AsyncClient, Client as Client, Dialog as Dialog, Event as Event
from .models import *
from .session import State as State

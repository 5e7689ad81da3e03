"""The dialect of pi 1.6, as its documentation describes it and the program speaks it.

Made by generate.py from `pi-rpc schema --dialect pi-1`; not to be changed by hand."""

from .client import AsyncClient as AsyncClient, Client as Client, Dialog as Dialog, Event as Event
from .models import *
from .session import State as State

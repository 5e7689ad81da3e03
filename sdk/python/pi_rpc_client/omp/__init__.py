"""The dialect of oh-my-pi 18.2: that of xcsh, which branched off earlier, with versions of the protocol that are
negotiated, frames in chunks, messages in pages, and one end for a run and all that follows it by itself.

Made by generate.py from `pi-rpc schema --dialect omp`; not to be changed by hand."""

from .client import AsyncClient as AsyncClient, Client as Client, Dialog as Dialog, Event as Event
from .models import *
from .session import State as State

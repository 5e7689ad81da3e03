import sys

from pi_rpc_client import ClosedError, Host, HostError, HostRefusedError
from pi_rpc_client.pi_1 import Client

address, *token = sys.argv[1:]
try:
    with Client(Host(address, token=token[0] if token else None)) as agent:
        print(agent.prompt("Hello").text)
except HostRefusedError as error:
    print("refused:", error.http_status, error.reason)
except HostError as error:
    print("nobody listens:", error)
except ClosedError as error:
    print("closed:", error.status)

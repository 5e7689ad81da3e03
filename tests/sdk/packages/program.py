"""A program of somebody who has installed the package: it starts a server, and converses with it."""

from pi_rpc_client.pi import Client

with Client(["pi-rpc", "serve", "--dialect", "pi", "--no-session", "--model", "scripted/demo"]) as client:
    client.prompt("Hello")
    print(len(client.get_messages().messages), "messages")

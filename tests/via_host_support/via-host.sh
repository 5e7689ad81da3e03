#!/bin/sh
# Stands for `pi-rpc serve`: starts a host for one session, which listens at TRANSPORT, and attaches to it. The host is
# ended with the client. PROGRAM and TRANSPORT are put in by the test.
case "$1" in
  serve) shift ;;
  --*) ;;
  *) exec "PROGRAM" "$@" ;;
esac
exec 3<&0
folder=$(mktemp -d)
if [ TRANSPORT = unix ]; then
  set -- --listen "unix:$folder/s" "$@"
else
  # SHA-256 of the token `secret`.
  printf 2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b > "$folder/hashes"
  PI_RPC_TOKEN=secret
  export PI_RPC_TOKEN
  set -- --listen ws://127.0.0.1:0 --token-file "$folder/hashes" "$@"
fi
"PROGRAM" host "$@" > /dev/null 2> "$folder/log" < /dev/null 3<&- &
host=$!
trap 'kill $host; wait $host; rm -r "$folder"' EXIT
trap 'kill $client' TERM INT HUP
until grep -q "listening at" "$folder/log"; do
  kill -0 $host || { cat "$folder/log" >&2; exit 1; }
  sleep 0.01
done
address=$(sed -n 's/.*listening at //p' "$folder/log" | head -n 1)
shift 2
if [ TRANSPORT = ws ]; then shift 2; fi
exec < /dev/null
"PROGRAM" attach "$address" --cwd "$PWD" "$@" <&3 3<&- &
client=$!
wait $client
status=$?
while kill -0 $client 2> /dev/null; do wait $client; status=$?; done
exit $status

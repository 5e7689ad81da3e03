// Has a program listen at the port that GIVEN_PORT names, whatever port is written in it.
import net from "node:net";

const given = process.env.GIVEN_PORT;
if (given) {
  const listen = net.Server.prototype.listen;
  net.Server.prototype.listen = function (_port, ...rest) {
    return listen.call(this, Number(given), ...rest);
  };
}

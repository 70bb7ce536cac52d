// Reactord is a layer 4 proxy. It proxies connections of TCP and of unix sockets, and datagrams of UDP, to groups of
// servers.
//
//	reactord demo                                                 try it out
//	reactord proxy --listen tcp://HOST:PORT --to tcp://HOST:PORT  run a proxy
//	reactord serve --config FILE                                  run the proxy of a configuration file
//	reactord envoy FLAGS                                          run in the place of an Envoy
//	reactord init serve --config FILE                             run it in a container that upgrades
//	reactord check --config FILE                                  report what is wrong with a file
//	reactord config --config FILE                                 print a file with all defaults
//	reactord schema                                               print the JSON Schema of configuration files
//	reactord ctl COMMAND                                          inspect and change a running reactord
//	reactord health                                               ask a running reactord whether it is ready
//	reactord doctor                                               report what this machine offers, and lacks
//	reactord man                                                  print the manual page
//	reactord completion SHELL                                     print a script that completes command lines
//	reactord version                                              print the version
//
// On SIGTERM or SIGINT it drains: it stops accepting, and exits when all connections have ended. When the drain times
// out, or on a second signal, it resets the remaining connections and exits.
//
// On SIGHUP it reads its file again. On SIGUSR1 it reopens its access log. On SIGUSR2 it starts its program again,
// which takes over the listening sockets; then it ends with its last connection.
//
// Exit status: 0 after a drain, 1 for an error, 2 for a wrong command line.
package main

import (
	"os"

	"github.com/reactord/reactord/cmd/reactord/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args)) }

// Package examples has small programs that use package reactor. Each is a directory with a main function, and a test
// that runs the program with real clients. What runs on a loop is tested on simulated machines as well.
//
//	directory         what it is                                             style      clients in its test
//	echo/handler      echo server                                            handler
//	echo/task         the same                                               task
//	echo/goroutine    the same                                               goroutine
//	echo/receiver     the same, as operation states and receivers            receiver
//	resp              keys and values, by the protocol of Redis, pipelined   handler    redis-cli, redis-benchmark
//	chat              lines for all members, on all loops                    handler
//	http/task         HTTP/1.1, TLS                                          task       curl, wrk, h2load
//	http/goroutine    net/http: HTTP/1.1, HTTP/2, TLS                        goroutine  curl, wrk, h2load
//	static            files of a directory, by sendfile                      task       curl
//	udp               answers DNS queries                                    task       dig
//	client            pool of connections, deadlines, retries                task
//	cp                copies a file                                          task
//	child             runs a program and reads what it writes                task       sh, seq
//	websocket         github.com/coder/websocket; a module of its own        goroutine  the library's client
//	grpc              google.golang.org/grpc; a module of its own            goroutine  the library's client
//	guide             the programs of docs/guide.md, complete and with few flags
//
// The others have the flags -loops and -ring, and those that listen have -listen: see internal/cmdline. All end by
// SIGINT or SIGTERM, and let what has begun end first.
package examples

// Command static serves the files of a directory by HTTP/1.1, in the style of tasks. The bytes of files go from the
// page cache to the socket: they do not pass through the program's memory.
package main

import (
	"flag"
	"log"
	"mime"
	"time"

	"github.com/reactord/reactord/reactor/examples/internal/cmdline"
	"github.com/reactord/reactord/reactor/server"
)

func main() {
	root := flag.String("root", ".", "directory with the files")
	ctx, listen, loops := cmdline.Parse()
	mime.TypeByExtension(".html") // reads the system's tables now, and not on a loop

	site := site{root: *root}
	cfg := server.Config{Addr: listen, Reactor: loops, IdleTimeout: time.Minute}
	if err := server.ServeTask(ctx, cfg, site.serve); err != nil {
		log.Fatal(err)
	}
}

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

const (
	pieceSize    = 1 << 20          // bytes of a file that are sent at a time
	sendPatience = 30 * time.Second // how long a client may take none of them
	maxHeader    = 64 << 10         // bytes of a request's header; http.ReadRequest has no bound
)

// site is a directory with files. Symbolic links in it are followed.
type site struct{ root string }

// serve answers the requests of one connection.
func (s site) serve(t *task.T, c net.Conn) error {
	bounded := &io.LimitedReader{R: c}
	for in := bufio.NewReader(bounded); ; {
		bounded.N = maxHeader // then it ends as if the client had closed
		req, err := http.ReadRequest(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.respond(t, c.(*netconn.Conn), req); err != nil || req.Close || req.ContentLength != 0 {
			return err
		}
	}
}

// respond answers one request.
func (s site) respond(t *task.T, c *netconn.Conn, req *http.Request) error {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		return reply(c, http.StatusMethodNotAllowed, http.Header{"Allow": {"GET, HEAD"}}, 0)
	}
	f := new(reactor.File)
	defer task.Unstoppable(t, func() {
		if f.Loop() != nil {
			_, _ = task.Await(t, f.Close())
		}
	})
	name := filepath.Join(s.root, local(req.URL.Path))
	info, err := open(t, c.Loop(), f, name)
	switch {
	case errors.Is(err, sender.ErrStopped):
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return reply(c, http.StatusNotFound, nil, 0)
	case errors.Is(err, fs.ErrPermission):
		return reply(c, http.StatusForbidden, nil, 0)
	case err != nil:
		return reply(c, http.StatusInternalServerError, nil, 0)
	}
	header := http.Header{
		"Accept-Ranges": {"bytes"},
		"Last-Modified": {info.Modified.UTC().Format(http.TimeFormat)},
	}
	if typ := mime.TypeByExtension(path.Ext(name)); typ != "" {
		header.Set("Content-Type", typ)
	}
	status, off, n := byteRange(req.Header.Get("Range"), info.Size)
	switch status {
	case http.StatusPartialContent:
		header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", off, off+n-1, info.Size))
	case http.StatusRequestedRangeNotSatisfiable:
		header.Set("Content-Range", fmt.Sprintf("bytes */%d", info.Size))
	}
	if err := reply(c, status, header, n); err != nil || req.Method == http.MethodHead {
		return err
	}
	return send(t, c, f, off, n)
}

// local converts the path of a URL to a path below the root: ".." does not lead out of it.
func local(urlPath string) string {
	name := path.Clean("/" + urlPath)
	if urlPath == "" || urlPath[len(urlPath)-1] == '/' {
		name = path.Join(name, "index.html")
	}
	return filepath.FromSlash(name)
}

// open opens a regular file.
func open(t *task.T, l *reactor.Loop, f *reactor.File, name string) (reactor.FileStat, error) {
	// O_NONBLOCK, so that a FIFO keeps no worker thread waiting.
	if _, err := task.Await(t, l.Cwd().OpenFile(f, name, os.O_RDONLY|unix.O_NONBLOCK, 0)); err != nil {
		return reactor.FileStat{}, err
	}
	info, err := task.Await(t, f.Stat())
	if err == nil && !info.Mode.IsRegular() {
		err = fs.ErrNotExist
	}
	return info, err
}

// reply sends the head of a response. It is followed by n bytes, unless the request was HEAD.
func reply(c *netconn.Conn, status int, header http.Header, n int64) error {
	head := new(bytes.Buffer)
	fmt.Fprintf(head, "HTTP/1.1 %d %s\r\nContent-Length: %d\r\n", status, http.StatusText(status), n)
	_ = header.Write(head)
	head.WriteString("\r\n")
	_, err := c.Write(head.Bytes())
	return err
}

// send sends n bytes of a file. The deadline of each piece is for a client that does not read.
func send(t *task.T, c *netconn.Conn, f *reactor.File, off, n int64) error {
	for end := off + n; off < end; {
		piece := c.Socket().SendFile(f, off, min(pieceSize, end-off))
		sent, err := task.Await(t, sender.Timeout(piece, c.Loop().SleepFor(sendPatience)))
		if err != nil {
			return err
		}
		if sent == 0 {
			return io.ErrUnexpectedEOF // the file has become shorter
		}
		off += sent
	}
	return nil
}

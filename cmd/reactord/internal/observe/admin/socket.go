package admin

import (
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/host/unixsocket"
)

// socket is a listening unix socket with its file.
type socket struct {
	*net.UnixListener
	path  string
	file  *unixsocket.File
	owned bool // this process removes the file; false before it serves on an inherited socket
}

func listenUnix(path string, cfg config.Admin) (_ *socket, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("unix://%s: %w", path, err)
		}
	}()
	access, err := unixsocket.NewAccess(fs.FileMode(cfg.Mode), cfg.Owner, cfg.Group)
	if err != nil {
		return nil, err
	}
	fd, file, err := unixsocket.Listen(path, access, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close() // the listener has a duplicate
	l, err := net.FileListener(f)
	if err != nil {
		_ = file.Remove()
		return nil, err
	}
	s := &socket{UnixListener: l.(*net.UnixListener), path: path, file: file, owned: true}
	s.SetUnlinkOnClose(false)
	return s, nil
}

// remove removes the file, if this process owns it.
func (s *socket) remove() error {
	if !s.owned {
		return nil
	}
	return s.file.Remove()
}

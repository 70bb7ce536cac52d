package translate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// inMemory starts the paths of in-memory files.
const inMemory = "xds://"

// maxFile limits the size of a file.
const maxFile = 4 << 20

// read reads a file for [certs]. This package reads the file system only for data sources with a filename.
func (f files) read(path string) ([]byte, error) {
	if text, ok := f[path]; ok {
		return []byte(text), nil
	}
	if strings.HasPrefix(path, inMemory) {
		return nil, fmt.Errorf("%s is empty", path)
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is not a regular file", path))
	}
	return io.ReadAll(io.LimitReader(in, maxFile))
}

// problems joins problems of files, except warnings.
func problems(all []certs.Problem) error {
	var errs []error
	for _, p := range all {
		if !p.Warning {
			errs = append(errs, errors.New(p.Text))
		}
	}
	return errors.Join(errs...)
}

// check validates an in-memory secret, so that it is refused alone, and not with what needs it.
func (s *Secret) check() error {
	f := files{}
	if s.pair != nil && !s.pair.onDisk() {
		t := config.NewListener().TLS
		t.Certificates = []config.Certificate{s.pair.add(f)}
		_, found := certs.LoadServer(&t, f.read)
		return problems(found)
	}
	if s.validation != nil && s.validation.ca.text != "" {
		t := config.NewBackend().TLS
		t.Enabled, t.CA, t.CRL = true, f.add(s.validation.ca), f.add(s.validation.crl)
		_, found := certs.LoadClient(&t, f.read)
		return problems(found)
	}
	return nil
}

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

// inMemory is what the path of a file that is in memory only begins with.
const inMemory = "xds://"

// maxFile bounds the size of a file.
const maxFile = 4 << 20

// read reads a file for [certs]. Those of the file system are the only ones that this package reads: data sources of
// the kind filename.
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
		return nil, errors.Join(err, fmt.Errorf("%s is no regular file", path))
	}
	return io.ReadAll(io.LimitReader(in, maxFile))
}

// problems joins what is wrong with files; warnings are not.
func problems(all []certs.Problem) error {
	var errs []error
	for _, p := range all {
		if !p.Warning {
			errs = append(errs, errors.New(p.Text))
		}
	}
	return errors.Join(errs...)
}

// check reads a secret that is in memory, so that it is refused by itself, and not with what needs it.
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

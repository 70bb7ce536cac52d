package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/host/atomicfile"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"go.uber.org/zap"
)

// overridesFile keeps what operators have set of servers in a file, from which the next start restores it. A nil
// overridesFile keeps nothing.
type overridesFile struct {
	path string
	log  *zap.Logger

	mu      sync.Mutex
	latest  []byte // nil: as written
	written []byte
	writing bool
	idle    sync.WaitGroup // of the goroutine that writes
}

// maxOverridesFile limits what is read, in bytes: several times what the most overrides take.
const maxOverridesFile = 64 << 20

// newOverridesFile returns the file of a path, or nil for "".
func newOverridesFile(path string, log *zap.Logger) *overridesFile {
	if path == "" {
		return nil
	}
	return &overridesFile{path: path, log: log}
}

// read returns what the file has. A file that cannot be read is logged, and has nothing: it must not prevent a start.
func (f *overridesFile) read(now time.Time) (map[plan.ServerKey]plan.Override, map[plan.DrainRule]plan.Stamp) {
	r, err := f.decode()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.log.Error("cannot restore the overrides of servers", zap.Error(err))
	}
	overrides, drains := r.restore(now)
	if f != nil {
		f.written = encodeOverrides(overrides, drains) // the next change writes it
	}
	if n := len(overrides) + len(drains); n > 0 {
		f.log.Info("restored the overrides of servers", zap.String("path", f.path), zap.Int("overrides", n))
	}
	return overrides, drains
}

func (f *overridesFile) decode() (r overridesRecord, err error) {
	if f == nil {
		return r, nil
	}
	file, err := os.Open(f.path)
	if err != nil {
		return r, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxOverridesFile+1))
	switch {
	case err != nil:
		return r, err
	case len(text) > maxOverridesFile:
		return r, fmt.Errorf("%s: larger than %d bytes", f.path, maxOverridesFile)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return overridesRecord{}, fmt.Errorf("%s: %w", f.path, err)
	}
	return r, nil
}

// save has a goroutine write what operators have set. It does not block.
func (f *overridesFile) save(overrides map[plan.ServerKey]plan.Override, drains map[plan.DrainRule]plan.Stamp) {
	if f == nil {
		return
	}
	text := encodeOverrides(overrides, drains)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.latest = text
	if !f.writing {
		f.writing = true
		f.idle.Go(f.write)
	}
}

func encodeOverrides(overrides map[plan.ServerKey]plan.Override, drains map[plan.DrainRule]plan.Stamp) []byte {
	record := recordOverrides(overrides, drains)
	text, _ := json.MarshalIndent(&record, "", " ") // it has no values that cannot be written
	return append(text, '\n')
}

// write writes the file until it has the latest.
func (f *overridesFile) write() {
	for {
		f.mu.Lock()
		next := f.latest
		if f.latest = nil; next == nil || bytes.Equal(next, f.written) {
			f.writing = false
			f.mu.Unlock()
			return
		}
		f.mu.Unlock()
		err := atomicfile.Write(f.path, next)
		if err != nil {
			f.log.Error("cannot save the overrides of servers: they end with the process", zap.Error(err))
			next = nil // the next change tries again
		}
		f.mu.Lock()
		f.written = next
		f.mu.Unlock()
	}
}

// wait waits for what is being written.
func (f *overridesFile) wait() {
	if f != nil {
		f.idle.Wait()
	}
}

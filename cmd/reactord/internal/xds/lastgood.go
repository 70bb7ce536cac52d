package xds

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"go.uber.org/zap"
)

// saver writes the last good file.
type saver struct {
	path    string
	at      time.Time // when it is to be written; zero: it is as it should be
	touched time.Time // when its time was set last
	failed  bool      // the last attempt
}

const (
	saveInterval  = 5 * time.Second // between two changes of the file
	touchInterval = time.Minute     // between two changes of its time
	maxSaved      = 1 << 30         // bytes that are read
)

// change notes that the file is to be written.
func (s *saver) change(now time.Time) {
	if s.path != "" && s.at.IsZero() {
		s.at = now.Add(saveInterval)
	}
}

// Saved is the content of a last good file: what was accepted, as it was received.
type Saved struct {
	Server    string // that has sent it
	Heard     time.Time
	Resources []SavedResource
}

// SavedResource is a resource of it.
type SavedResource struct {
	Type, Name, Version string
	Body                []byte
}

// magic begins a last good file: its form.
const magic = "reactord xds 1\n"

// Encode is the bytes of a last good file: its form, a checksum, and the content.
func (s *Saved) Encode() ([]byte, error) {
	body, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	return append(append([]byte(magic), sum[:]...), body...), nil
}

// Decode reads the bytes of a last good file.
func Decode(data []byte) (*Saved, error) {
	rest, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok || len(rest) < sha256.Size {
		return nil, errors.New("it is no file of this version")
	}
	sum, body := rest[:sha256.Size], rest[sha256.Size:]
	if now := sha256.Sum256(body); !bytes.Equal(sum, now[:]) {
		return nil, errors.New("its checksum is wrong: it was cut off or changed")
	}
	s := &Saved{}
	return s, json.Unmarshal(body, s)
}

// saved is what is in force.
func (c *Client) saved() *Saved {
	s := &Saved{Server: c.status.versionsOf, Heard: c.status.lastGood}
	if c.machine.Mixed() {
		s.Server = "" // versions of several: the next process tells none
	}
	c.book.each(func(r *resource) {
		if r.used != nil {
			s.Resources = append(s.Resources, SavedResource{kindNames[r.kind], r.name, r.used.version, r.used.body})
		}
	})
	return s
}

// save writes the file if it is time to, or at the end. It is called with the lock.
func (c *Client) save(now time.Time, end bool) {
	s := &c.saver
	if s.path == "" {
		return
	}
	if !s.at.IsZero() && (end || !now.Before(s.at)) {
		s.at = time.Time{}
		data, err := c.saved().Encode()
		if err == nil {
			err = replace(s.path, data)
		}
		if (err != nil) && !s.failed {
			c.log.Error("xds: the last good file cannot be written", zap.String("path", s.path), zap.Error(err))
		}
		if s.failed, s.touched = err != nil, now; s.failed {
			s.at = now.Add(saveInterval) // the directory may be there by then
		}
	}
	if c.status.connected && (end || now.Sub(s.touched) >= touchInterval) {
		c.status.heardOf(c.status.stream)
		if heard := c.status.lastGood; !heard.IsZero() {
			s.touched = now
			_ = os.Chtimes(s.path, time.Time{}, heard) // it is as good as then
		}
	}
}

// replace writes a file that others see as a whole. It holds keys.
func replace(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// readSaved reads a last good file, which must not be older than most; 0: it may be of any age.
func readSaved(path string, most time.Duration, now time.Time) (*Saved, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if age := now.Sub(info.ModTime()); most > 0 && age > most {
		return nil, fmt.Errorf("%s: it is %v old, and max_age is %v", path, age.Round(time.Second), most)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSaved))
	if err != nil {
		return nil, err
	}
	s, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.Heard = info.ModTime()
	return s, nil
}

// Restore takes what the process before this one has accepted: handed over if that is not nil, else what is in the
// last good file. What cannot be used is logged. It returns the part of the plan that is made of it; nil: there is
// none. It is called before [Client.Start]; then the plan has that part from the beginning on, but for what
// [Client.LeftOut] is called with.
func (c *Client) Restore(handed []byte) *plan.Control {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.toRestore(handed)
	if s == nil {
		return nil
	}
	now := time.Now()
	for _, saved := range s.Resources {
		c.restore(&saved, now)
	}
	c.status.versionsOf, c.status.lastGood, c.status.restored = s.Server, s.Heard, true
	for {
		chosen, _ := c.book.choose(now)
		made, faults, err := c.book.language.tryBuild(c.book.set(&chosen))
		changed := false
		for _, f := range faults {
			changed = chosen.blame(f.kind, f.name, f.err) || changed
		}
		switch {
		case err != nil && c.book.blamePanic(&chosen, err):
			c.panicked(err)
			continue
		case err != nil:
			c.panicked(err)
			c.book = newBook(c.cfg.language, c.book.rules)
			return nil
		case changed:
			continue
		}
		c.book.commit(&chosen)
		c.restored()
		c.log.Info("xds: begun with what was accepted last", zap.String("server", s.Server), zap.Time("heard", s.Heard),
			zap.Int("resources", len(s.Resources)))
		c.name(made)
		c.note()
		c.ready(&chosen)
		if len(chosen[listeners]) > 0 {
			c.isSettled()
		}
		return made
	}
}

// toRestore is what there is to restore.
func (c *Client) toRestore(handed []byte) *Saved {
	var s *Saved
	var err error
	switch {
	case len(handed) > 0:
		s, err = Decode(handed)
	case c.saver.path != "":
		s, err = readSaved(c.saver.path, c.cfg.Settings.MaxAge, time.Now())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.log.Error("xds: what was accepted last cannot be restored", zap.Error(err))
	}
	return s
}

// restore takes one resource.
func (c *Client) restore(saved *SavedResource, now time.Time) {
	for k, name := range kindNames {
		if name != saved.Type {
			continue
		}
		k := kind(k) //nolint:gosec // there are four
		v, err := c.book.language.decode(k, saved.Name, saved.Body)
		if err != nil {
			c.log.Warn("xds: a resource that was accepted last is refused", zap.String("type", name),
				zap.String("name", saved.Name), zap.Error(err))
			continue
		}
		c.book.get(k, saved.Name).receive(v, saved.Version, saved.Body, nil, now)
	}
}

// restored tells the machine what is held.
func (c *Client) restored() {
	for k := range c.book.all {
		versions := map[string]string{}
		for name, r := range c.book.all[k] {
			if r.used != nil {
				versions[name] = r.used.version
			}
		}
		c.machine.Restore(types[k], versions)
	}
}

// Handed is what the next process is handed over.
func (c *Client) Handed() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	data, err := c.saved().Encode()
	if err != nil {
		return nil
	}
	return data
}

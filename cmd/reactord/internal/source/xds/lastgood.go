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
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/host/atomicfile"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"go.uber.org/zap"
)

// saver writes the last-good file.
type saver struct {
	path    string
	at      time.Time // when to write it; zero if it is up to date
	touched time.Time // when its time was last set
	failed  bool      // whether the last attempt failed
}

const (
	saveInterval  = 5 * time.Second // between two writes
	touchInterval = time.Minute     // between two updates of its time
	maxSaved      = 1 << 30         // limit in bytes when reading
)

// change schedules a write of the file.
func (s *saver) change(now time.Time) {
	if s.path != "" && s.at.IsZero() {
		s.at = now.Add(saveInterval)
	}
}

// Saved is the content of a last-good file: what was accepted, as it was received.
type Saved struct {
	Server    string // that has sent it
	Heard     time.Time
	Resources []SavedResource
}

// SavedResource is a resource of the file.
type SavedResource struct {
	Type, Name, Version string
	Body                []byte
}

// magic starts a last-good file, and identifies its format.
const magic = "reactord xds 1\n"

// Encode returns the bytes of a last-good file: magic, checksum, content.
func (s *Saved) Encode() ([]byte, error) {
	body, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	return append(append([]byte(magic), sum[:]...), body...), nil
}

// Decode parses the bytes of a last-good file.
func Decode(data []byte) (*Saved, error) {
	rest, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok || len(rest) < sha256.Size {
		return nil, errors.New("not a last-good file of this version")
	}
	sum, body := rest[:sha256.Size], rest[sha256.Size:]
	if now := sha256.Sum256(body); !bytes.Equal(sum, now[:]) {
		return nil, errors.New("wrong checksum: the file was truncated or modified")
	}
	s := &Saved{}
	return s, json.Unmarshal(body, s)
}

// saved returns what is in force.
func (c *Client) saved() *Saved {
	s := &Saved{Server: c.status.versionsOf, Heard: c.status.lastGood}
	if c.machine.Mixed() {
		s.Server = "" // versions of several servers, which the next process must not send
	}
	c.resources.each(func(r *resource) {
		if r.used != nil {
			s.Resources = append(s.Resources, SavedResource{kindNames[r.kind], r.name, r.used.version, r.used.body})
		}
	})
	return s
}

// save writes the file if it is due, or at the end. It is called with the lock.
func (c *Client) save(now time.Time, end bool) {
	s := &c.saver
	if s.path == "" {
		return
	}
	if !s.at.IsZero() && (end || !now.Before(s.at)) {
		s.at = time.Time{}
		data, err := c.saved().Encode()
		if err == nil {
			err = atomicfile.Write(s.path, data) // it contains keys
		}
		if (err != nil) && !s.failed {
			c.log.Error("xds: cannot write the last-good file", zap.String("path", s.path), zap.Error(err))
		}
		if s.failed, s.touched = err != nil, now; s.failed {
			s.at = now.Add(saveInterval) // the directory may exist by then
		}
	}
	if c.status.connected && (end || now.Sub(s.touched) >= touchInterval) {
		c.status.heardOf(c.status.stream)
		if heard := c.status.lastGood; !heard.IsZero() {
			s.touched = now
			_ = os.Chtimes(s.path, time.Time{}, heard) // its age is that of the last contact
		}
	}
}

// readSaved reads a last-good file that is at most most old; 0 allows any age.
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
		return nil, fmt.Errorf("%s: %v old, more than max_age %v", path, age.Round(time.Second), most)
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

// Restore restores what the previous process had accepted: from handed if that is not nil, and otherwise from the
// last-good file. Unusable resources are logged. It returns the part of the plan built from them, or nil. Call it
// before [Client.Start]; the plan is then assumed to contain that part, except for what [Client.LeftOut] reports.
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
		chosen, _ := c.resources.choose(now)
		made, faults, err := c.resources.decoder.tryBuild(c.resources.set(&chosen))
		changed := false
		for _, f := range faults {
			changed = chosen.blame(f.kind, f.name, f.err) || changed
		}
		switch {
		case err != nil && c.resources.blamePanic(&chosen, err):
			c.panicked(err)
			continue
		case err != nil:
			c.panicked(err)
			c.resources = newResources(c.cfg.decoder, c.resources.rules)
			return nil
		case changed:
			continue
		}
		c.resources.commit(&chosen)
		c.restored()
		c.log.Info("xds: started from the last-good configuration", zap.String("server", s.Server),
			zap.Time("heard", s.Heard), zap.Int("resources", len(s.Resources)))
		c.name(made)
		c.note()
		c.ready(&chosen)
		if len(chosen[listeners]) > 0 {
			c.markSettled()
		}
		return made
	}
}

// toRestore returns what there is to restore.
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
		c.log.Error("xds: cannot restore the last-good configuration", zap.Error(err))
	}
	return s
}

// restore restores one resource.
func (c *Client) restore(saved *SavedResource, now time.Time) {
	for k, name := range kindNames {
		if name != saved.Type {
			continue
		}
		k := kind(k) //nolint:gosec // there are four
		v, err := c.resources.decoder.decode(k, saved.Name, saved.Body)
		if err != nil {
			c.log.Warn("xds: last-good resource refused", zap.String("type", name),
				zap.String("name", saved.Name), zap.Error(err))
			continue
		}
		c.resources.get(k, saved.Name).receive(v, saved.Version, saved.Body, nil, now)
	}
}

// restored tells the machine which versions are held.
func (c *Client) restored() {
	for k := range c.resources.all {
		versions := map[string]string{}
		for name, r := range c.resources.all[k] {
			if r.used != nil {
				versions[name] = r.used.version
			}
		}
		c.machine.Restore(types[k], versions)
	}
}

// Handed returns the state to hand over to the next process.
func (c *Client) Handed() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	data, err := c.saved().Encode()
	if err != nil {
		return nil
	}
	return data
}

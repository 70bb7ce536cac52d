package sets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/sets/list"
	"github.com/reactord/reactord/cmd/reactord/internal/source/fetch"
)

// maxDecisions bounds the bans that are kept.
const maxDecisions = 2_000_000

// resync is how often all decisions are requested again, in case that a change was missed.
const resync = time.Hour

// crowdsecFeed follows the decisions of a local API of CrowdSec: first all of them, then what has changed since the
// last request. After a failure, what the API believes to have been told is not known: it is asked for all again.
type crowdsecFeed struct {
	cfg      config.SetCrowdsec
	set      *config.Set
	client   fetch.Client
	synced   time.Time // when all decisions were requested; zero: they have to be
	bans     map[ban]time.Time
	earliest time.Time // the end of a ban before which none ends
}

// ban identifies a decision. Several may ban the same network.
type ban struct {
	id      int64
	network netip.Prefix
}

func newCrowdsecFeed(cfg config.SetCrowdsec, s *config.Set) *crowdsecFeed {
	return &crowdsecFeed{cfg: cfg, set: s, client: fetch.Client{CAFile: cfg.CAFile, Redirect: fetch.NoRedirect}}
}

func (f *crowdsecFeed) run(ctx context.Context, report func(*list.List, error)) {
	defer f.client.Close()
	pace := fetch.Pace{First: f.cfg.Interval}
	for {
		changed, err := f.attempt(ctx, time.Now())
		if ctx.Err() != nil {
			return
		}
		var l *list.List
		if f.expire(time.Now()) || changed {
			l = f.list()
		}
		report(l, err)
		if !fetch.Sleep(ctx, pace.Next(err, pace.Around(f.cfg.Interval))) {
			return
		}
	}
}

// attempt requests decisions once, and reports whether bans have changed.
func (f *crowdsecFeed) attempt(ctx context.Context, now time.Time) (changed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.cfg.Timeout)
	defer cancel()
	all := now.Sub(f.synced) >= resync
	key, err := fetch.Secret(f.cfg.KeyFile)
	if err != nil {
		return false, fmt.Errorf("key_file: %w", err)
	}
	url := fmt.Sprintf("%s/v1/decisions/stream?startup=%v", strings.TrimSuffix(f.cfg.URL, "/"), all)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false, err
	}
	r.Header.Set("X-Api-Key", key)
	r.Header.Set("Accept", "application/json")
	begun := f.synced
	f.synced = time.Time{} // until the answer is read
	response, err := f.client.Do(r)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusForbidden, http.StatusUnauthorized:
		return false, fmt.Errorf("status %s: key_file has no key of a bouncer: cscli bouncers add NAME", response.Status)
	default:
		return false, fmt.Errorf("status %s", response.Status)
	}
	next := decisions{now: now, bans: map[ban]time.Time{}, known: f.bans}
	if all {
		next.known = nil
	}
	if err := next.read(response.Body, int64(f.set.MaxSize)); err != nil {
		return false, fmt.Errorf("answer refused: %w", err)
	}
	changed = f.apply(&next, all)
	if f.synced = begun; all {
		f.synced = now
	}
	return changed, next.skipped
}

// apply takes what was read, and reports whether that changes something.
func (f *crowdsecFeed) apply(next *decisions, all bool) bool {
	if all {
		f.bans = next.bans
	} else {
		maps.Copy(f.bans, next.bans)
		for _, b := range next.deleted {
			delete(f.bans, b)
		}
	}
	for _, until := range next.bans {
		if f.earliest.IsZero() || until.Before(f.earliest) {
			f.earliest = until
		}
	}
	return all || len(next.bans)+len(next.deleted) != 0
}

// expire removes bans whose time is over, and reports whether there were any.
func (f *crowdsecFeed) expire(now time.Time) (some bool) {
	if f.earliest.IsZero() || now.Before(f.earliest) {
		return false
	}
	f.earliest = time.Time{}
	for b, until := range f.bans {
		switch {
		case !until.After(now):
			delete(f.bans, b)
			some = true
		case f.earliest.IsZero() || until.Before(f.earliest):
			f.earliest = until
		}
	}
	return some
}

func (f *crowdsecFeed) list() *list.List {
	b := list.NewBuilder(config.NetworkSet)
	seen := make(map[netip.Prefix]bool, len(f.bans))
	for ban := range f.bans {
		if !seen[ban.network] {
			seen[ban.network] = true
			b.AddNetwork(ban.network)
		}
	}
	return b.List()
}

// decisions is what an answer has.
type decisions struct {
	now     time.Time
	known   map[ban]time.Time // before
	bans    map[ban]time.Time // that are new, with their end
	deleted []ban
	skipped error // a decision that cannot be read, the first one
}

// decision is a decision as the API writes it.
type decision struct {
	ID       int64  `json:"id"`
	Type     string `json:"type"`
	Scope    string `json:"scope"`
	Value    string `json:"value"`
	Duration string `json:"duration"`
}

var errTooMany = fmt.Errorf("more than %d decisions", maxDecisions)

// read reads an answer of up to most bytes. It decodes one decision after the other.
func (d *decisions) read(body io.Reader, most int64) error {
	limited := &io.LimitedReader{R: body, N: most + 1}
	in := json.NewDecoder(limited)
	err := d.object(in)
	if limited.N <= 0 {
		return fmt.Errorf("%w: it has more than max_size, %s", list.ErrTooLarge, config.Size(most))
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func (d *decisions) object(in *json.Decoder) error {
	if err := expect(in, json.Delim('{')); err != nil {
		return err
	}
	for in.More() {
		key, err := in.Token()
		if err != nil {
			return err
		}
		switch key {
		case "new":
			err = d.each(in, d.add)
		case "deleted":
			err = d.each(in, d.remove)
		default:
			var other json.RawMessage
			err = in.Decode(&other)
		}
		if err != nil {
			return err
		}
	}
	return expect(in, json.Delim('}'))
}

func expect(in *json.Decoder, want json.Delim) error {
	t, err := in.Token()
	if err == nil && t != want {
		err = fmt.Errorf("at byte %d: want %v, not %.40q", in.InputOffset(), want, fmt.Sprint(t))
	}
	return err
}

// each calls f for each decision of a list, which may be null.
func (d *decisions) each(in *json.Decoder, f func(ban, time.Duration) error) error {
	t, err := in.Token()
	if err != nil || t == nil {
		return err
	}
	if t != json.Delim('[') {
		return fmt.Errorf("at byte %d: want a list of decisions, not %.40q", in.InputOffset(), fmt.Sprint(t))
	}
	for in.More() {
		var next decision
		if err := in.Decode(&next); err != nil {
			return err
		}
		if !strings.EqualFold(next.Type, "ban") ||
			!strings.EqualFold(next.Scope, "ip") && !strings.EqualFold(next.Scope, "range") {
			continue
		}
		network, err := parseNetwork(next.Value)
		var left time.Duration
		if err == nil {
			left, err = time.ParseDuration(next.Duration)
		}
		if err != nil {
			if d.skipped == nil {
				d.skipped = fmt.Errorf("decision %d was skipped: %w", next.ID, err)
			}
			continue
		}
		if err := f(ban{next.ID, network}, left); err != nil {
			return err
		}
	}
	return expect(in, json.Delim(']'))
}

// parseNetwork parses the value of a decision. Bits beyond the length of a range do not matter.
func parseNetwork(text string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		text = p.Masked().String()
	}
	return config.ParseNetwork(text)
}

func (d *decisions) add(b ban, left time.Duration) error {
	if left <= 0 {
		return nil
	}
	d.bans[b] = d.now.Add(left)
	if len(d.bans)+len(d.known) > maxDecisions {
		return errTooMany
	}
	return nil
}

func (d *decisions) remove(b ban, _ time.Duration) error {
	if _, known := d.known[b]; known {
		d.deleted = append(d.deleted, b)
	}
	return nil
}

package dropin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// Stat is a number that Envoy has, by Envoy's name.
type Stat struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"`
}

// maxFilter bounds the length of a filter in bytes.
const maxFilter = 1024

// stats answers /stats, with its filter and format.
func (h *handler) stats(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if query.Get("format") == "prometheus" {
		h.metrics.ServeHTTP(w, r)
		return
	}
	all := h.process.Stats()
	if filter := query.Get("filter"); filter != "" {
		wanted, err := regexp.Compile(filter)
		if err != nil || len(filter) > maxFilter {
			text(w, http.StatusBadRequest, "Invalid regex: "+clip(filter))
			return
		}
		kept := all[:0]
		for _, s := range all {
			if wanted.MatchString(s.Name) {
				kept = append(kept, s)
			}
		}
		all = kept
	}
	switch format := query.Get("format"); format {
	case "json":
		if all == nil {
			all = []Stat{}
		}
		answerJSON(w, map[string][]Stat{"stats": all})
	case "", "text":
		var out strings.Builder
		for _, s := range all {
			fmt.Fprintf(&out, "%s: %d\n", s.Name, s.Value)
		}
		text(w, http.StatusOK, out.String())
	default:
		text(w, http.StatusBadRequest, "usage: /stats?format=text|json|prometheus&filter=REGEX")
	}
}

// clip bounds what is repeated of a request.
func clip(s string) string {
	const most = 100
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "")
}

// StatName returns an address as it is in the names of Envoy's statistics.
func StatName(address string) string { return strings.ReplaceAll(address, ":", "_") }

func answerJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache, max-age=0")
	_ = json.NewEncoder(w).Encode(v) // an error means that the client has gone
}

package admin_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
)

// Errors that are joined are several; one with a kind and a cause is one, unless the cause has places.
func TestPlaces(t *testing.T) {
	inFile := &config.Error{File: "f", Line: 1, Column: 2, Text: "wrong"}
	place := admin.Place{File: "f", Line: 1, Column: 2, Text: "wrong"}
	for name, c := range map[string]struct {
		err  error
		want []admin.Place
	}{
		"one":             {errors.New("a"), []admin.Place{{Text: "a"}}},
		"joined":          {errors.Join(errors.New("a"), inFile), []admin.Place{{Text: "a"}, place}},
		"kind and cause":  {fmt.Errorf("%w: %w", admin.ErrNotFound, errors.New("a")), []admin.Place{{Text: "not found: a"}}},
		"cause in a file": {fmt.Errorf("%w: %w", admin.ErrConflict, inFile), []admin.Place{place}},
	} {
		if diff := cmp.Diff(c.want, admin.Places(c.err)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

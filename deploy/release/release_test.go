package release

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

const root = "../../"

// The configuration has no unknown key, builds for both architectures, and each file that it names is there. What is
// in build/stage is made by .ci/stage.
func TestConfiguration(t *testing.T) {
	c, err := config.Load(root + ".goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Builds) != 1 || !slices.Equal(c.Builds[0].Goarch, []string{"amd64", "arm64"}) {
		t.Errorf("builds: %+v", c.Builds)
	}
	if len(c.SBOMs) == 0 || c.Checksum.Algorithm != "sha256" {
		t.Error("SBOMs or checksums are missing")
	}
	for _, a := range c.Archives {
		for _, f := range a.Files {
			if strings.HasPrefix(f.Source, "build/stage/") {
				continue
			}
			if found, err := filepath.Glob(root + f.Source); err != nil || len(found) == 0 {
				t.Errorf("%s: no file (%v)", f.Source, err)
			}
		}
	}
}

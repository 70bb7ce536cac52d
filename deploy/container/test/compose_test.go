package container

import (
	"os"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// TestCompose reads compose.yaml as docker compose does, by its schema, and looks for what it mounts.
func TestCompose(t *testing.T) {
	options, err := cli.NewProjectOptions([]string{"../compose.yaml"}, cli.WithWorkingDirectory(".."))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exists := func(what, path string) {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for name, service := range project.Services {
		for _, v := range service.Volumes {
			if v.Type == types.VolumeTypeBind {
				exists(name, v.Source)
			}
		}
		if b := service.Build; b != nil {
			exists(name, b.Context+"/"+b.Dockerfile)
		}
		for _, o := range service.SecurityOpt {
			if file, ok := strings.CutPrefix(o, "seccomp="); ok {
				exists(name, "../"+file)
			}
		}
	}
}

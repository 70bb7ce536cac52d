package loader

import (
	"fmt"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/host/account"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
)

// ReadFile reads a configuration file with those that it includes, and looks up its user and group. With an error,
// [config.Places] only has the files.
func ReadFile(path string) (*config.Config, *config.Places, error) {
	cfg, places, err := config.Load(path)
	if err != nil {
		return nil, places, err
	}
	ofGroup, err := account.Lookup(cfg.User, cfg.Group)
	if err == nil {
		return cfg, places, nil
	}
	at := "user"
	if ofGroup {
		at = "group"
	}
	return nil, places, places.Errors([]config.Problem{{Path: at, Text: err.Error(), Err: err}})
}

// Unreadable returns a problem for each file that the user of the configuration cannot open, if root asks. own are the
// files of the configuration itself.
func Unreadable(cfg *config.Config, own []config.File) (wrong []config.Problem) {
	files := namedFiles(cfg)
	for _, f := range files {
		if strings.HasSuffix(f.setting, ".web_config_file") {
			for _, named := range admin.WebFiles(f.path) {
				files = append(files, namedFile{f.setting, named})
			}
		}
	}
	for _, f := range own {
		files = append(files, namedFile{"user", f.Path})
	}
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = f.path
	}
	found, err := account.Unreadable(cfg.User, cfg.Group, paths)
	if err != nil {
		return []config.Problem{{Path: "user", Text: fmt.Sprintf("user %s: %v", cfg.User, err), Err: err}}
	}
	for _, f := range files {
		if err := found[f.path]; err != nil {
			wrong = append(wrong, config.Problem{
				Path: f.setting, Text: fmt.Sprintf("user %s cannot read it: %v", cfg.User, err), Err: err,
			})
		}
	}
	return wrong
}

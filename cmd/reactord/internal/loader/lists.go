package loader

import (
	"fmt"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/sets/list"
)

// readLists reads the files of sets into f. A file that cannot be read, or that has a wrong line, is an error, as of a
// certificate: a set that denies must not be empty by mistake. Once a set is in force, its file may fail.
func readLists(f *plan.File) error {
	f.Lists = map[list.Key]*list.List{}
	var wrong []config.Problem
	for i := range f.Config.Sets {
		s := &f.Config.Sets[i]
		for j, file := range s.Files {
			l, err := list.ReadFile(file.Path, s)
			if err != nil {
				wrong = append(wrong, config.Problem{
					Path: fmt.Sprintf("sets[%d].files[%d].path", i, j), Setting: "path", Text: err.Error(), Err: err,
				})
				continue
			}
			f.Lists[list.Key{Set: s.Name, Path: file.Path}] = l
		}
	}
	return f.Errors(wrong)
}

// Package tidy has tests only. They check what no linter checks: the length of lines and of commit subjects, the places
// of files and of package comments, and that each package of the daemon has a row in the table of imports.
//
// places.txt lists the patterns of the paths that the repository's files have.
//
// The tests read the files that git knows or would add. Outside a git checkout they are skipped.
package tidy

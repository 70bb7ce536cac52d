// Package tidy has tests only. They check what no linter checks:
//
//   - Go files: the length of lines, the places of files and of package comments, and that each package of the daemon
//     has a row in the table of imports.
//   - The libraries: results of exported functions have types that their callers can name.
//   - Doc comments: headings are printed as headings, and an index of files names all files of its package.
//   - Documents: links lead to files and headings that exist, code is a part of a Go file, tests and files that they
//     name exist, the glossary defines each term once, and ARCHITECTURE.md has no counts.
//   - The history: commits have one parent, and a subject that says what changes.
//
// places.txt lists the patterns of the paths that the repository's files have.
//
// The tests read the files that git knows or would add. Outside a git checkout they are skipped, and those of the
// history in a shallow clone, too.
package tidy

// Package tidy has tests only. They check what no linter checks: the length of lines and of commit subjects, the
// words of the glossary, the places of files and of package comments, and that each package of the daemon has a row in
// the table of imports.
//
//   - words.txt lists the words that Go files and Markdown files do not use, and what to write instead.
//   - places.txt lists the patterns of the paths that the repository's files have.
//   - exceptions.txt lists single findings that are right as they are, each as FILE: RULE.
//
// The tests read the files that git knows or would add. Outside a git checkout they are skipped.
package tidy
